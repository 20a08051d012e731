// Which files of the groups go: marked by the reader, saved as a list for `nearprint prune --list`, or as commands.

'use strict';

/** The names of the columns of a list. `nearprint prune --list` expects them. */
const CHOICE_COLUMNS = ['path', 'kept', 'similarity', 'state', 'kept_state'];

/** A path as a cell of a list, as `nearprint` writes it. */
function escaped(path) {
  const names = { '\t': '\\t', '\n': '\\n', '\r': '\\r', '\\': '\\\\' };
  return path.replace(/[\0-\x1f\x7f-\x9f\\]/g, char =>
    names[char] ?? `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

/** A path as a word of a shell. */
const quoted = path => `'${path.replaceAll("'", "'\\''")}'`;

/** The marked files of each group. One file of a group always stays. */
class Choice {
  /** Names of `groups` are below the folder `root`; without a root they are whole paths. */
  constructor(groups, root) {
    Object.assign(this, { groups, root, going: new Map(), isSaved: true });
  }

  /** The listed members of a group: the shown one, then the others. */
  members(group) {
    const { kept, others } = this.groups.detail(group);
    return [kept, ...others];
  }

  has(group, index) {
    return this.going.get(group)?.has(index) ?? false;
  }

  numGoing(group) {
    return this.going.get(group)?.size ?? 0;
  }

  /**
   * Marks these members of a group and no others, but for those that stay or are not known. Says whether a file that
   * is known stays; else nothing changes.
   */
  set(group, indexes) {
    const members = this.members(group);
    const mayGo = index => members[index].state !== null && !members[index].stays;
    const wanted = new Set(indexes.filter(mayGo));
    if (!members.some((member, index) => member.state !== null && !wanted.has(index))) return false;
    if (wanted.size) this.going.set(group, wanted);
    else this.going.delete(group);
    this.isSaved = false;
    return true;
  }

  /** Marks a member, or takes its mark away. */
  toggle(group, index) {
    const wanted = new Set(this.going.get(group));
    if (!wanted.delete(index)) wanted.add(index);
    return this.set(group, [...wanted]);
  }

  keepOnly(group, index) {
    return this.set(group, this.members(group).map((_, at) => at).filter(at => at !== index));
  }

  /** Marks all others of groups, or those that are exact copies. */
  markOthers(chosen, onlyExact) {
    for (const group of chosen) {
      const others = this.members(group).map((member, index) => ({ member, index })).slice(1);
      const wanted = others.filter(({ member }) => !onlyExact || member.isExact).map(({ index }) => index);
      if (wanted.length) this.set(group, wanted);
    }
  }

  clear() {
    this.going.clear();
    this.isSaved = true;
  }

  /** The files that go, each with the one that stays. */
  files() {
    return [...this.going].sort(([one], [other]) => one - other).flatMap(([group, indexes]) => {
      const members = this.members(group);
      const stays = members.findIndex((member, index) => member.state !== null && !indexes.has(index));
      return [...indexes].sort((one, other) => one - other).map(index => ({
        file: members[index],
        kept: members[stays],
        // Similarities are with the shown file.
        similarity: stays === 0 ? members[index].similarity : index === 0 ? members[stays].similarity : null,
      }));
    });
  }

  path({ name }) {
    return this.root ? `${this.root.replace(/\/+$/, '')}/${name}` : name;
  }

  list() {
    const lines = this.files().map(({ file, kept, similarity }) =>
      [escaped(this.path(file)), escaped(this.path(kept)), similarity ?? '', file.state, kept.state]);
    return [CHOICE_COLUMNS, ...lines].map(cells => `${cells.join('\t')}\n`).join('');
  }

  /** Commands of a shell that move the files to the folder nearprint-gone, under their own paths. */
  commands() {
    const folders = new Set();
    const lines = this.files().flatMap(({ file }) => {
      const from = this.path(file);
      const parts = from.split('/').filter(part => part && part !== '.' && part !== '..');
      const to = `nearprint-gone/${parts.join('/')}`;
      const folder = to.slice(0, to.lastIndexOf('/'));
      const move = `mv -n -- ${quoted(from)} ${quoted(to)}`;
      if (folders.has(folder)) return [move];
      folders.add(folder);
      return [`mkdir -p -- ${quoted(folder)}`, move];
    });
    const head = [
      '#!/bin/sh',
      '# Moves the marked files to the folder nearprint-gone. Run it in the folder in which the report was made.',
      '# `nearprint prune --list` of the saved list does the same, leaves what has changed, and can be undone.',
      'set -e',
    ];
    return [...head, ...lines].map(line => `${line}\n`).join('');
  }
}

/** Saves a text as a file of the browser's. */
function save(name, text) {
  const link = document.createElement('a');
  link.download = name;
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
  link.click();
  // The browser has taken it when the next task runs.
  setTimeout(() => URL.revokeObjectURL(link.href));
}
