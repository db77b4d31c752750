// Pinocchio's analytic derivatives: pinocchio_derivative FILE...
//   inverse dynamics; velocity and acceleration of the last joint; rate of inverse dynamics by central differences in time of the first
#include "common.hpp"
#include <pinocchio/algorithm/kinematics-derivatives.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>

int main(int count, char ** words)
{
  for (int k = 1; k < count; ++k) {
    const Problem problem = read(words[k]);
    const pin::Model & model = problem.model;
    pin::Data data(model);
    const int n = model.nv;
    std::srand(1);
    const Vector v = Vector::Random(n), a = Vector::Random(n), jerk = Vector::Random(n);
    Vector q(model.nq);
    pin::integrate(model, pin::neutral(model), Vector(0.3 * Vector::Random(n)), q);
    Matrix dq = Matrix::Zero(n, n), dv = dq, da = dq;
    // Its documentation asks for zeros on entry.
    auto derivatives = [&](const Vector & position, const Vector & rate, const Vector & acceleration) {
      dq.setZero();
      dv.setZero();
      da.setZero();
      pin::computeRNEADerivatives(model, data, position, rate, acceleration, dq, dv, da);
    };
    report("derivative", "computeRNEADerivatives", problem, n, [&] { derivatives(q, v, a); });

    pin::Data::Matrix6x vq = pin::Data::Matrix6x::Zero(6, n), vv = vq, aq = vq, av = vq, aa = vq;
    const auto tip = static_cast<pin::JointIndex>(model.njoints - 1);
    report("derivative", "velocity of the last joint", problem, n, [&] {
      pin::computeForwardKinematicsDerivatives(model, data, q, v, a);
      vq.setZero();
      vv.setZero();
      pin::getJointVelocityDerivatives(model, data, tip, pin::LOCAL, vq, vv);
    });
    report("derivative", "velocity and acceleration of the last joint", problem, n, [&] {
      pin::computeForwardKinematicsDerivatives(model, data, q, v, a);
      vq.setZero();
      aq.setZero();
      av.setZero();
      aa.setZero();
      pin::getJointAccelerationDerivatives(model, data, tip, pin::LOCAL, vq, aq, av, aa);
    });

    // d tau' / d(q, v, a, jerk) = [D', E' + D, A' + E, A] where D, E, A are the blocks above and ' is their change along the motion.
    const double h = 1e-5;
    Matrix rate = Matrix::Zero(n, 4 * n);
    Vector moved(model.nq), by = h * v, v1 = v + h * a, a1 = a + h * jerk, v0 = v - h * a, a0 = a - h * jerk;
    report("derivative", "torque rate by differences of computeRNEADerivatives", problem, n, [&] {
      by.noalias() = h * v;
      pin::integrate(model, q, by, moved);
      derivatives(moved, v1, a1);
      rate.leftCols(n) = dq;
      rate.middleCols(n, n) = dv;
      rate.middleCols(2 * n, n) = da;
      by.noalias() = -h * v;
      pin::integrate(model, q, by, moved);
      derivatives(moved, v0, a0);
      rate.leftCols(n) -= dq;
      rate.middleCols(n, n) -= dv;
      rate.middleCols(2 * n, n) -= da;
      rate.leftCols(3 * n) *= 0.5 / h;
      derivatives(q, v, a);
      rate.middleCols(n, n) += dq;
      rate.middleCols(2 * n, n) += dv;
      rate.rightCols(n) = da;
    });
  }
}
