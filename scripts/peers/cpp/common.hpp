// What the Pinocchio programs share: models from rows of numbers, times of calls, lines of JSON.
#pragma once
#include <pinocchio/fwd.hpp>
#include <pinocchio/multibody.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace pin = pinocchio;
using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

// Two points that a loop holds together; bodies count from 1, 0 is the ground.
struct Closure
{
  pin::JointIndex first, second;
  Eigen::Vector3d on_first, on_second;
};

struct Problem
{
  std::string name;
  pin::Model model;
  std::vector<Closure> closures;
  Vector start;
};

// Rows of models.py:
//   body PARENT KIND axis(3) rotation(9, by rows) position(3) mass com(3) xx xy xz yy yz zz     KIND: r hinge, p slide, s ball, f free
//   loop BODY point(3) BODY point(3)
//   start q...                                                                                  quaternions x y z w
inline Problem read(const std::string & path)
{
  Problem problem;
  pin::Model & model = problem.model;
  const auto from = path.find_last_of('/') + 1;
  problem.name = path.substr(from, path.find_last_of('.') - from);
  std::ifstream file(path);
  if (!file) {
    std::cerr << "can't read " << path << "\n";
    std::exit(2);
  }
  std::string row;
  while (std::getline(file, row)) {
    std::istringstream words(row);
    std::string word;
    words >> word;
    if (word == "body") {
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
      // The special joints of an axis are Pinocchio's fastest.
      pin::JointModel joint = pin::JointModelSpherical();
      if (kind == 'r') {
        if (unit == 0) joint = pin::JointModelRX();
        else if (unit == 1) joint = pin::JointModelRY();
        else if (unit == 2) joint = pin::JointModelRZ();
        else joint = pin::JointModelRevoluteUnaligned(axis);
      } else if (kind == 'p') {
        if (unit == 0) joint = pin::JointModelPX();
        else if (unit == 1) joint = pin::JointModelPY();
        else if (unit == 2) joint = pin::JointModelPZ();
        else joint = pin::JointModelPrismaticUnaligned(axis);
      } else if (kind == 'f') {
        joint = pin::JointModelFreeFlyer();
      }
      const auto id = model.addJoint(static_cast<pin::JointIndex>(parent), joint, pin::SE3(turn, position), "j" + std::to_string(model.njoints));
      model.appendBodyToJoint(id, pin::Inertia(mass, com, inertia), pin::SE3::Identity());
    } else if (word == "loop") {
      Closure c;
      words >> c.first >> c.on_first[0] >> c.on_first[1] >> c.on_first[2] >> c.second >> c.on_second[0] >> c.on_second[1] >> c.on_second[2];
      problem.closures.push_back(c);
    } else if (word == "start") {
      std::vector<double> values;
      for (double x; words >> x;) values.push_back(x);
      problem.start = Eigen::Map<Vector>(values.data(), static_cast<Eigen::Index>(values.size()));
    }
  }
  if (problem.start.size() != model.nq) problem.start = pin::neutral(model);
  return problem;
}

inline double now()
{
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Prints the least and the median time of a call over batches of two milliseconds.
template<class Call> void report(const char * section, const char * variant, const Problem & problem, int n, Call call)
{
  long calls = 1;
  for (;;) {
    const double begin = now();
    for (long k = 0; k < calls; ++k) call();
    if (now() - begin >= 0.002 || calls > (1L << 28)) break;
    calls *= 2;
  }
  std::vector<double> times;
  const double limit = now() + 1.5;
  for (int batch = 0; batch < 60 && (batch < 5 || now() < limit); ++batch) {
    const double begin = now();
    for (long k = 0; k < calls; ++k) call();
    times.push_back((now() - begin) / static_cast<double>(calls) * 1e6);
  }
  std::sort(times.begin(), times.end());
  std::printf("{\"section\":\"%s\",\"system\":\"pinocchio\",\"build\":\"%s\",\"variant\":\"%s\",\"model\":\"%s\",\"n\":%d,\"us\":%.6g,\"us_median\":%.6g}\n",
              section, BUILD, variant, problem.name.c_str(), n, times.front(), times[times.size() / 2]);
  std::fflush(stdout);
}

// Advances a system in pieces of `sample` seconds and prints positions and rates after each, with the least time of a step.
template<class Step> void trace(const char * section, const std::string & variant, const Problem & problem, double h, double duration, double sample,
                                const Vector & q, const Vector & v, Step step)
{
  const long per = std::lround(sample / h), samples = std::lround(duration / sample);
  std::string positions, rates;
  double best = 1e9;
  auto append = [](std::string & to, const Vector & values) {
    to += to.empty() ? "[" : ",[";
    char text[40];
    for (Eigen::Index k = 0; k < values.size(); ++k) {
      std::snprintf(text, sizeof text, k ? ",%.17g" : "%.17g", std::isfinite(values[k]) ? values[k] : 1e300);
      to += text;
    }
    to += "]";
  };
  for (long s = 0; s < samples; ++s) {
    const double begin = now();
    for (long k = 0; k < per; ++k) step(h);
    best = std::min(best, (now() - begin) / static_cast<double>(per) * 1e6);
    append(positions, q);
    append(rates, v);
  }
  std::printf("{\"section\":\"%s\",\"system\":\"pinocchio\",\"build\":\"%s\",\"variant\":\"%s\",\"model\":\"%s\",\"n\":%d,\"dt\":%g,\"us\":%.6g,\"us_median\":%.6g,\"q\":[%s],\"v\":[%s]}\n",
              section, BUILD, variant.c_str(), problem.name.c_str(), problem.model.nv, h, best, best, positions.c_str(), rates.c_str());
  std::fflush(stdout);
}
