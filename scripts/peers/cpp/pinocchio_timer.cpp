// Times Pinocchio on models written by `leastaction convert`: `pinocchio_timer SECTION FILE...`, one JSON line per case.
//   step        articulated-body algorithm with RK4 and with semi-implicit Euler
//   derivative  derivatives of inverse dynamics, and of the tip's velocity and acceleration
#include <pinocchio/fwd.hpp>
#include <pinocchio/multibody.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/kinematics-derivatives.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace pin = pinocchio;
using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

// "body PARENT KIND axis(3) rotation(9, by rows) position(3) mass com(3) xx xy xz yy yz zz"; PARENT counts bodies from 1, 0 is the ground;
// KIND is r (hinge), p (slide), s (ball) or f (free).
static pin::Model read(const std::string & path)
{
  pin::Model model;
  std::ifstream file(path);
  std::string row;
  while (std::getline(file, row)) {
    std::istringstream words(row);
    std::string word;
    if (!(words >> word) || word != "body") continue;
    int parent;
    char kind;
    Eigen::Vector3d axis, position, com;
    Eigen::Matrix3d turn, inertia;
    double mass, i[6];
    words >> parent >> kind >> axis[0] >> axis[1] >> axis[2];
    for (int k = 0; k < 9; ++k) words >> turn(k / 3, k % 3);
    words >> position[0] >> position[1] >> position[2] >> mass >> com[0] >> com[1] >> com[2];
    for (double & x : i) words >> x;
    inertia << i[0], i[1], i[2], i[1], i[3], i[4], i[2], i[4], i[5];
    int unit = -1;
    for (int k = 0; k < 3; ++k)
      if (axis == Eigen::Vector3d::Unit(k)) unit = k;
    pin::JointModel joint = pin::JointModelSpherical();
    if (kind == 'r')
      joint = unit == 0 ? pin::JointModel(pin::JointModelRX()) : unit == 1 ? pin::JointModel(pin::JointModelRY())
            : unit == 2 ? pin::JointModel(pin::JointModelRZ()) : pin::JointModel(pin::JointModelRevoluteUnaligned(axis));
    else if (kind == 'p') joint = pin::JointModelPrismaticUnaligned(axis);
    else if (kind == 'f') joint = pin::JointModelFreeFlyer();
    auto id = model.addJoint(static_cast<pin::JointIndex>(parent), joint, pin::SE3(turn, position), "j" + std::to_string(model.njoints));
    model.appendBodyToJoint(id, pin::Inertia(mass, com, inertia), pin::SE3::Identity());
  }
  return model;
}

static double now()
{
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Least and median microseconds per call over batches of two milliseconds.
template<class Call> static void report(const char * section, const char * variant, const std::string & path, int n, Call call)
{
  long calls = 1;
  for (;;) {
    double begin = now();
    for (long k = 0; k < calls; ++k) call();
    if (now() - begin >= 0.002 || calls > (1L << 28)) break;
    calls *= 2;
  }
  std::vector<double> times;
  for (int batch = 0; batch < 40; ++batch) {
    double begin = now();
    for (long k = 0; k < calls; ++k) call();
    times.push_back((now() - begin) / calls * 1e6);
  }
  std::sort(times.begin(), times.end());
  auto from = path.find_last_of('/') + 1;
  std::string name = path.substr(from, path.find_last_of('.') - from);
  std::printf("{\"section\":\"%s\",\"system\":\"pinocchio\",\"build\":\"%s\",\"variant\":\"%s\",\"model\":\"%s\",\"n\":%d,\"us\":%.6g,\"us_median\":%.6g}\n",
              section, BUILD, variant, name.c_str(), n, times.front(), times[times.size() / 2]);
  std::fflush(stdout);
}

static void step(const std::string & path)
{
  pin::Model model = read(path);
  pin::Data data(model);
  const double h = 1e-4;
  std::srand(1);
  Vector q0 = pin::neutral(model), tau = Vector::Zero(model.nv), q = q0, v = Vector::Zero(model.nv), next(model.nq);
  pin::integrate(model, pin::neutral(model), Vector(0.1 * Vector::Ones(model.nv)), q0);
  q = q0;
  auto acceleration = [&](const Vector & at, const Vector & rate) -> Vector { return pin::aba(model, data, at, rate, tau, pin::Convention::LOCAL); };
  auto moved = [&](const Vector & by) -> const Vector & { pin::integrate(model, q, by, next); return next; };
  long count = 0;
  auto restart = [&] { if (++count % 200 == 0) { q = q0; v.setZero(); } };
  report("step", "ABA+semi-implicit", path, model.nv, [&] {
    v.noalias() += h * acceleration(q, v);
    q = moved(h * v);
    restart();
  });
  q = q0; v.setZero();
  report("step", "ABA+RK4", path, model.nv, [&] {
    Vector v1 = v, a1 = acceleration(q, v1);
    Vector v2 = v + 0.5 * h * a1, a2 = acceleration(moved(0.5 * h * v1), v2);
    Vector v3 = v + 0.5 * h * a2, a3 = acceleration(moved(0.5 * h * v2), v3);
    Vector v4 = v + h * a3, a4 = acceleration(moved(h * v3), v4);
    q = Vector(moved(h / 6 * (v1 + 2 * v2 + 2 * v3 + v4)));
    v += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4);
    restart();
  });
}

static void derivative(const std::string & path)
{
  pin::Model model = read(path);
  pin::Data data(model);
  int n = model.nv;
  std::srand(1);
  Vector q(model.nq), v = Vector::Random(n), a = Vector::Random(n);
  pin::integrate(model, pin::neutral(model), Vector(0.3 * Vector::Random(n)), q);
  Matrix dq = Matrix::Zero(n, n), dv = dq, da = dq;
  report("derivative", "computeRNEADerivatives", path, n, [&] {
    dq.setZero(); dv.setZero(); da.setZero();
    pin::computeRNEADerivatives(model, data, q, v, a, dq, dv, da);
  });
  pin::Data::Matrix6x vq = pin::Data::Matrix6x::Zero(6, n), aq = vq, av = vq, aa = vq;
  auto tip = static_cast<pin::JointIndex>(model.njoints - 1);
  report("derivative", "velocity and acceleration of the tip", path, n, [&] {
    pin::computeForwardKinematicsDerivatives(model, data, q, v, a);
    vq.setZero(); aq.setZero(); av.setZero(); aa.setZero();
    pin::getJointAccelerationDerivatives(model, data, tip, pin::LOCAL, vq, aq, av, aa);
  });
}

int main(int count, char ** words)
{
  if (count < 3) { std::cerr << "pinocchio_timer step|derivative FILE...\n"; return 2; }
  for (int k = 2; k < count; ++k) std::string(words[1]) == "step" ? step(words[k]) : derivative(words[k]);
}
