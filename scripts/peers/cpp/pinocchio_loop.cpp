// Loops in Pinocchio: accelerations that respect closures, with Baumgarte's correction.
//   pinocchio_loop loop FILE...                                     its acceleration and a semi-implicit step
//   pinocchio_loop trace FILE rk4|semi SECONDS SAMPLE KP KD STEP... a run from the start, sampled
#include "common.hpp"
#include <pinocchio/algorithm/constrained-dynamics.hpp>

class Closed
{
public:
  Vector q, v;

  Closed(const Problem & problem, double kp, double kd, double damping)
  : q(problem.start), v(Vector::Zero(problem.model.nv)), model(problem.model), data(model), settings(1e-12, damping, 20), tau(Vector::Zero(model.nv))
  {
    for (const Closure & c : problem.closures) {
      constraints.emplace_back(pin::CONTACT_3D, model, c.first, pin::SE3(Eigen::Matrix3d::Identity(), c.on_first), c.second,
                               pin::SE3(Eigen::Matrix3d::Identity(), c.on_second), pin::LOCAL);
      constraints.back().setBaumgarteCorrectorParameters(pin::BaumgarteCorrectorParametersTpl<double>(kp, kd));
    }
    for (const auto & c : constraints) memory.emplace_back(c);
    pin::initConstraintDynamics(model, data, constraints, memory);
  }

  const Vector & acceleration(const Vector & position, const Vector & rate)
  {
    return pin::constraintDynamics(model, data, position, rate, tau, constraints, memory, settings);
  }

  // Positions are angles here, so that adding is moving.
  void semi_implicit(double h)
  {
    v += h * acceleration(q, v);
    q += h * v;
  }

  void runge_kutta(double h)
  {
    const Vector a1 = acceleration(q, v), v2 = v + 0.5 * h * a1;
    const Vector a2 = acceleration(q + 0.5 * h * v, v2), v3 = v + 0.5 * h * a2;
    const Vector a3 = acceleration(q + 0.5 * h * v2, v3), v4 = v + h * a3;
    const Vector a4 = acceleration(q + h * v3, v4);
    q += (h / 6) * (v + 2 * v2 + 2 * v3 + v4);
    v += (h / 6) * (a1 + 2 * a2 + 2 * a3 + a4);
  }

private:
  pin::Model model;
  pin::Data data;
  std::vector<pin::RigidConstraintModel> constraints;
  std::vector<pin::RigidConstraintData> memory;
  pin::ProximalSettings settings;
  Vector tau;
};

int main(int count, char ** words)
{
  const std::string what = count > 2 ? words[1] : "";
  if (what == "trace" && count > 8) {
    const Problem problem = read(words[2]);
    const bool rk4 = std::string(words[3]) == "rk4";
    for (int k = 8; k < count; ++k) {
      Closed s(problem, std::atof(words[6]), std::atof(words[7]), 1e-10);
      const std::string variant = std::string("constraintDynamics+") + (rk4 ? "RK4" : "semi-implicit") + ", Kp " + words[6] + ", Kd " + words[7];
      trace("gap", variant, problem, std::atof(words[k]), std::atof(words[4]), std::atof(words[5]), s.q, s.v,
            [&](double h) { rk4 ? s.runge_kutta(h) : s.semi_implicit(h); });
    }
    return 0;
  }
  if (what != "loop") {
    std::cerr << "pinocchio_loop loop FILE... | trace FILE rk4|semi SECONDS SAMPLE KP KD STEP...\n";
    return 2;
  }
  for (int k = 2; k < count; ++k) {
    const Problem problem = read(words[k]);
    Closed s(problem, 100, 20, 1e-8);
    const int loops = static_cast<int>(problem.closures.size());
    report("loop", "constraintDynamics", problem, loops, [&] { s.acceleration(problem.start, s.v); });
    long steps = 0;
    report("loop", "constraintDynamics+semi-implicit", problem, loops, [&] {
      if (steps++ % 200 == 0) {
        s.q = problem.start;
        s.v.setZero();
      }
      s.semi_implicit(1e-3);
    });
  }
}
