// Builds a database of the lines of a text, and prints the clusters of similar lines.
//
//   clusters DATABASE < TEXT

#include <nearprint.hpp>

#include <iostream>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: clusters DATABASE < TEXT\n";
    return 2;
  }
  try {
    nearprint::fingerprinter<> fingerprint("simhash shingle=1");
    nearprint::builder<> builder(argv[1], nearprint::schema{6});
    std::vector<std::string> lines;
    for (std::string line; std::getline(std::cin, line); lines.push_back(line)) {
      builder.push(fingerprint(line), lines.size());
    }
    for (const auto& cluster : builder.finish().snapshot().clusters(6)) {
      std::cout << cluster.size() << " lines\n";
      for (const auto& row : cluster) std::cout << "  " << lines[row.id] << '\n';
    }
  } catch (const nearprint::error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
