// simhash-cpp's permutations of blocks, for programs that use them themselves. C++11.

#ifndef SIMHASH_PERMUTATION_H
#define SIMHASH_PERMUTATION_H

#include "simhash.h"

namespace Simhash {

/// Moves some blocks of bits to the front.
class Permutation {
 public:
  /// All permutations for a number of blocks and of differing bits: each brings other blocks to the
  /// front. Throws std::invalid_argument for more than 64 blocks, and for no more blocks than bits.
  static std::vector<Permutation> create(size_t number_of_blocks, size_t different_bits) {
    detail::check(number_of_blocks, different_bits);
    std::vector<hash_t> blocks;
    for (size_t block = 0; block < number_of_blocks; ++block) {
      const size_t first = block * BITS / number_of_blocks, end = (block + 1) * BITS / number_of_blocks;
      blocks.push_back(ones(end - first) << first);
    }
    std::vector<Permutation> permutations;
    for (std::vector<hash_t>& masks : choose(blocks, number_of_blocks - different_bits)) {
      hash_t taken = 0;
      for (hash_t mask : masks) taken |= mask;
      for (hash_t block : blocks) {
        if ((block & taken) == 0) masks.push_back(block);
      }
      permutations.push_back(Permutation(different_bits, masks));
    }
    return permutations;
  }

  /// All choices of r items, in lexicographic order of their positions. Throws std::invalid_argument
  /// for more items than there are.
  static std::vector<std::vector<hash_t> > choose(const std::vector<hash_t>& population, size_t r) {
    if (r > population.size()) throw std::invalid_argument("cannot choose more items than there are");
    std::vector<char> is_chosen(population.size(), 0);
    std::fill_n(is_chosen.begin(), r, 1);
    std::vector<std::vector<hash_t> > choices;
    do {
      std::vector<hash_t> choice;
      for (size_t at = 0; at < population.size(); ++at) {
        if (is_chosen[at]) choice.push_back(population[at]);
      }
      choices.push_back(choice);
    } while (std::prev_permutation(is_chosen.begin(), is_chosen.end()));
    return choices;
  }

  /// A permutation that places blocks side by side from the most significant bit on. Each mask is one
  /// block of neighbouring bits. Throws std::invalid_argument for an empty block.
  Permutation(size_t different_bits, std::vector<hash_t>& masks) : search_mask_(0) {
    size_t placed = 0;
    for (size_t at = 0; at < masks.size(); ++at) {
      if (masks[at] == 0) throw std::invalid_argument("a block of a permutation has no bits");
      size_t first = 0;
      while ((masks[at] >> first & 1) == 0) ++first;
      placed += num_differing_bits(masks[at], 0);
      moves_.push_back(Move{masks[at], static_cast<int>(BITS - placed) - static_cast<int>(first)});
      if (at + different_bits < masks.size()) search_mask_ = ~ones(BITS - placed);
    }
  }

  /// The permuted bits of a hash.
  hash_t apply(hash_t hash) const {
    hash_t result = 0;
    for (const Move& move : moves_) result |= shift(hash & move.mask, move.left);
    return result;
  }

  /// The hash with these permuted bits.
  hash_t reverse(hash_t hash) const {
    hash_t result = 0;
    for (const Move& move : moves_) result |= shift(hash, -move.left) & move.mask;
    return result;
  }

  /// The bits of the leading blocks: all but the last `different_bits` ones.
  hash_t search_mask() const { return search_mask_; }

 private:
  /// A block, and by how many bits it moves to the left.
  struct Move {
    hash_t mask;
    int left;
  };

  static hash_t ones(size_t count) { return count == BITS ? ~hash_t(0) : (hash_t(1) << count) - 1; }
  static hash_t shift(hash_t bits, int left) { return left >= 0 ? bits << left : bits >> -left; }

  std::vector<Move> moves_;
  hash_t search_mask_;
};

}  // namespace Simhash

#endif
