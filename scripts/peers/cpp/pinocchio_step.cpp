// Pinocchio's forward dynamics and steps made of it:
//   pinocchio_step kernel FILE...                              articulated-body algorithm in both conventions, inverse dynamics, mass matrix
//   pinocchio_step step FILE...                                one step of RK4 and of semi-implicit Euler
//   pinocchio_step trace FILE rk4|semi SECONDS SAMPLE STEP...  a run from the start, sampled
#include "common.hpp"
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea.hpp>

// Memory for stages is made once: a step allocates nothing.
class Stepper
{
public:
  Vector q, v;

  explicit Stepper(const pin::Model & model)
  : q(pin::neutral(model)), v(Vector::Zero(model.nv)), model(model), data(model), tau(Vector::Zero(model.nv)), by(model.nv), at(model.nq),
    v2(model.nv), v3(model.nv), v4(model.nv), a1(model.nv), a2(model.nv), a3(model.nv)
  {
  }

  void semi_implicit(double h)
  {
    v.noalias() += h * acceleration(q, v);
    by.noalias() = h * v;
    move();
    q.swap(at);
  }

  void runge_kutta(double h)
  {
    a1 = acceleration(q, v);
    v2.noalias() = v + 0.5 * h * a1;
    by.noalias() = 0.5 * h * v;
    move();
    a2 = acceleration(at, v2);
    v3.noalias() = v + 0.5 * h * a2;
    by.noalias() = 0.5 * h * v2;
    move();
    a3 = acceleration(at, v3);
    v4.noalias() = v + h * a3;
    by.noalias() = h * v3;
    move();
    const Vector & a4 = acceleration(at, v4);
    by.noalias() = (h / 6) * (v + 2 * v2 + 2 * v3 + v4);
    v.noalias() += (h / 6) * (a1 + 2 * a2 + 2 * a3 + a4);
    move();
    q.swap(at);
  }

private:
  const Vector & acceleration(const Vector & position, const Vector & rate)
  {
    return pin::aba(model, data, position, rate, tau, pin::Convention::LOCAL);
  }
  void move() { pin::integrate(model, q, by, at); }

  const pin::Model & model;
  pin::Data data;
  Vector tau, by, at, v2, v3, v4, a1, a2, a3;
};

static void kernel(const std::string & path)
{
  const Problem problem = read(path);
  const pin::Model & model = problem.model;
  pin::Data data(model);
  std::srand(1);
  const Vector v = Vector::Random(model.nv), a = Vector::Random(model.nv);
  Vector q(model.nq);
  pin::integrate(model, pin::neutral(model), Vector(Vector::Random(model.nv)), q);
  report("kernel", "aba, local", problem, model.nv, [&] { pin::aba(model, data, q, v, a, pin::Convention::LOCAL); });
  report("kernel", "aba, world", problem, model.nv, [&] { pin::aba(model, data, q, v, a, pin::Convention::WORLD); });
  report("kernel", "rnea", problem, model.nv, [&] { pin::rnea(model, data, q, v, a); });
  report("kernel", "crba", problem, model.nv, [&] { pin::crba(model, data, q, pin::Convention::LOCAL); });
}

static void step(const std::string & path)
{
  const Problem problem = read(path);
  Stepper s(problem.model);
  Vector start(problem.model.nq);
  pin::integrate(problem.model, problem.start, Vector(Vector::Constant(problem.model.nv, 0.1)), start);
  long count = 0;
  auto restart = [&] {
    if (count++ % 200 == 0) {
      s.q = start;
      s.v.setZero();
    }
  };
  report("step", "ABA+semi-implicit", problem, problem.model.nv, [&] { restart(); s.semi_implicit(1e-4); });
  count = 0;
  report("step", "ABA+RK4", problem, problem.model.nv, [&] { restart(); s.runge_kutta(1e-4); });
}

int main(int count, char ** words)
{
  const std::string what = count > 2 ? words[1] : "";
  if (what == "trace" && count > 6) {
    const Problem problem = read(words[2]);
    const bool rk4 = std::string(words[3]) == "rk4";
    for (int k = 6; k < count; ++k) {
      Stepper s(problem.model);
      s.q = problem.start;
      trace("precision", rk4 ? "ABA+RK4" : "ABA+semi-implicit", problem, std::atof(words[k]), std::atof(words[4]), std::atof(words[5]), s.q, s.v,
            [&](double h) { rk4 ? s.runge_kutta(h) : s.semi_implicit(h); });
    }
    return 0;
  }
  if (what != "kernel" && what != "step") {
    std::cerr << "pinocchio_step kernel|step FILE... | trace FILE rk4|semi SECONDS SAMPLE STEP...\n";
    return 2;
  }
  for (int k = 2; k < count; ++k) what == "step" ? step(words[k]) : kernel(words[k]);
}
