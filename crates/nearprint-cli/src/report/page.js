// The list of groups, the members of a group, and the difference of two texts or pictures.
//
// Names and texts come from documents and are hostile. They reach the page only as text nodes.

'use strict';

/** The height of a row in pixels, as in the style sheet. */
const ROW_HEIGHT = 52;
/** Rows above and below the visible ones that are in the document as well. */
const EXTRA_ROWS = 5;
/** Browsers limit the height of elements. Above this, a scroll bar moves by more than its rows. */
const MAX_HEIGHT = 10_000_000;
/** Equal lines that are shown around changed ones. */
const CONTEXT = 3;

const byId = id => document.getElementById(id);

/** An element with a class and contents: elements, or texts. */
function element(name, className, ...contents) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...contents);
  return made;
}

/** A text whose control characters and direction overrides can be seen. Line ends and tabs stay. */
function visible(text) {
  return text.replace(/[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, char => {
    const code = char.charCodeAt(0);
    if (code < 32) return String.fromCharCode(0x2400 + code);
    return `‹U+${code.toString(16).toUpperCase().padStart(4, '0')}›`;
  });
}

/** A name on one line. */
const oneLine = name => visible(name).replace(/\n/g, '␊').replace(/\t/g, '␉') || '(no name)';

const count = number => number.toLocaleString('en');

function plural(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
}

/** Bytes as the command line prints them. */
function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  const units = ['kB', 'MB', 'GB', 'TB', 'PB'];
  let unit = -1;
  do {
    bytes /= 1000;
    unit += 1;
  } while (bytes >= 999.995 && unit < units.length - 1);
  return `${bytes.toFixed(2)} ${units[unit]}`;
}

// ---------------------------------------------------------------------------- data

const blocks = kind => [...document.querySelectorAll(`script.${kind}`)];
const parsed = block => JSON.parse(block.textContent);

/** The groups, in chunks. Only the blocks of the list are parsed at once. */
class Groups {
  constructor() {
    const lists = blocks('list').map(parsed);
    const column = name => lists.flatMap(list => list[name]);
    this.name = column('names');
    this.members = column('members');
    this.bytes = column('bytes');
    this.similarity = column('similarities');
    this.distance = column('distances');
    this.chunkLengths = lists.map(list => list.names.length);
    this.memberBlocks = blocks('members');
    this.textBlocks = blocks('texts');
    this.memberChunks = [];
    this.textChunk = { index: -1 };
  }

  get length() {
    return this.name.length;
  }

  /** The chunk of a group, and the group's index in it. */
  place(group) {
    let chunk = 0;
    while (group >= this.chunkLengths[chunk]) group -= this.chunkLengths[chunk++];
    return [chunk, group];
  }

  membersOfChunk(chunk) {
    return (this.memberChunks[chunk] ??= parsed(this.memberBlocks[chunk]));
  }

  /** The kept member and the others that are listed. */
  detail(group) {
    const [chunk, index] = this.place(group);
    const [bytes, others, [picture, state, stays = false] = [null, null]] = this.membersOfChunk(chunk)[index];
    return {
      kept: { name: this.name[group], bytes, picture, state, stays },
      others: others.map(([name, bytes, distance, similarity, isExact, [picture, state] = [null, null]]) =>
        ({ name, bytes, distance, similarity, isExact, picture, state })),
    };
  }

  /** The texts or pictures of a group, or null. */
  texts(group) {
    const [chunk, index] = this.place(group);
    if (this.textChunk.index !== chunk) {
      this.textChunk = { index: chunk, texts: parsed(this.textBlocks[chunk]) };
    }
    return this.textChunk.texts[index];
  }

  /** The names of all members of each group, in small letters. Made by the first search. */
  searchable() {
    if (!this.searched) {
      this.searched = this.memberBlocks.flatMap((_, chunk) =>
        this.membersOfChunk(chunk).map(([, others]) => others.map(([name]) => name).join('\n')));
      for (let group = 0; group < this.length; group++) {
        this.searched[group] = `${this.name[group]}\n${this.searched[group]}`.toLowerCase();
      }
    }
    return this.searched;
  }
}

// ---------------------------------------------------------------------------- lists

/** A list box whose rows are in the document only while they can be seen. */
class ListBox {
  /** `fill(row, item)` makes the contents of a row. `choose(item, isByKey)` is called for a choice. */
  constructor(box, fill, choose) {
    Object.assign(this, { box, fill, choose, items: [], active: 0, chosen: undefined });
    this.space = element('div', 'space');
    this.space.setAttribute('role', 'presentation');
    box.replaceChildren(this.space);
    box.addEventListener('scroll', () => this.later());
    box.addEventListener('keydown', event => this.key(event));
    box.addEventListener('click', event => {
      const row = event.target.closest('.row');
      if (row) this.pick(Number(row.dataset.index), false);
    });
    new ResizeObserver(() => this.later()).observe(box);
  }

  /** Shows other items, from the first one. */
  show(items) {
    this.items = items;
    this.active = 0;
    this.height = Math.min(items.length * ROW_HEIGHT, MAX_HEIGHT);
    this.space.style.height = `${this.height}px`;
    this.box.scrollTop = 0;
    this.render();
  }

  later() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      this.render();
    });
  }

  /** Rows that the box has room for, and how many pixels of rows a pixel of the scroll bar is. */
  view() {
    const height = this.box.clientHeight;
    const hidden = this.items.length * ROW_HEIGHT - height;
    const scale = hidden > 0 ? hidden / Math.max(this.height - height, 1) : 1;
    return { height, scale, top: this.box.scrollTop * scale };
  }

  render() {
    const { height, top } = this.view();
    const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - EXTRA_ROWS);
    const end = Math.min(this.items.length, Math.ceil((top + height) / ROW_HEIGHT) + EXTRA_ROWS);
    const rows = [];
    for (let index = first; index < end; index++) {
      const row = element('div', 'row');
      row.id = `${this.box.id}-${index}`;
      row.dataset.index = index;
      row.setAttribute('role', 'option');
      row.setAttribute('aria-posinset', index + 1);
      row.setAttribute('aria-setsize', this.items.length);
      row.setAttribute('aria-selected', this.items[index] === this.chosen);
      row.classList.toggle('active', index === this.active);
      row.style.transform = `translateY(${Math.round(index * ROW_HEIGHT - top + this.box.scrollTop)}px)`;
      this.fill(row, this.items[index]);
      rows.push(row);
    }
    this.space.replaceChildren(...rows);
    // A reader of the screen may refer only to a row of the document.
    const has = first <= this.active && this.active < end;
    if (has) this.box.setAttribute('aria-activedescendant', `${this.box.id}-${this.active}`);
    else this.box.removeAttribute('aria-activedescendant');
  }

  /** Makes a row the active one, and scrolls until it can be seen. */
  move(index) {
    this.active = Math.max(0, Math.min(index, this.items.length - 1));
    const { height, scale, top } = this.view();
    const start = this.active * ROW_HEIGHT;
    if (start < top) this.box.scrollTop = Math.floor(start / scale);
    if (start + ROW_HEIGHT > top + height) this.box.scrollTop = Math.ceil((start + ROW_HEIGHT - height) / scale);
    this.render();
  }

  /** Chooses a row. */
  pick(index, isByKey) {
    if (!(index in this.items)) return;
    this.chosen = this.items[index];
    this.move(index);
    this.choose(this.chosen, isByKey);
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(this.box.clientHeight / ROW_HEIGHT) - 1);
    const targets = {
      ArrowDown: this.active + 1,
      ArrowUp: this.active - 1,
      PageDown: this.active + page,
      PageUp: this.active - page,
      Home: 0,
      End: this.items.length - 1,
    };
    if (event.key in targets) this.move(targets[event.key]);
    else if (event.key === 'Enter' || event.key === ' ') this.pick(this.active, true);
    else return;
    event.preventDefault();
  }
}

/** The characters at the end of a name that are shown in any case. */
const END_LENGTH = 28;

/** Fills a row with a name and what is known of it. Of a long name the end is shown, where paths differ. */
function fillRow(row, name, notes) {
  const shown = oneLine(name);
  const characters = [...shown];
  const start = Math.max(0, characters.length - END_LENGTH);
  const line = element('div', 'name',
    element('span', 'start', characters.slice(0, start).join('')),
    element('span', 'end', characters.slice(start).join('')));
  line.title = shown;
  row.append(line, element('div', 'notes', notes.filter(note => note !== null).join(' · ')));
}

const similarityNote = similarity => (similarity === null ? null : `similarity ${similarity.toFixed(2)}`);
const distanceNote = distance => (distance === null ? null : `distance ${distance}`);
const sizeNote = bytes => (bytes === null ? null : size(bytes));
const pixelsNote = picture => (picture === null ? null : `${picture[0]} × ${picture[1]} pixels`);

// ---------------------------------------------------------------------------- differences

/** The difference as rows: what each of the texts has of it, as far as they were compared. A row ends where both
 * texts have a line end. */
function differenceRows(kept, runs) {
  const rows = [];
  let row = { left: [], right: [], isChanged: false };
  let at = 0;
  const close = () => {
    rows.push(row);
    row = { left: [], right: [], isChanged: false };
  };
  for (const run of runs) {
    if (typeof run === 'string') {
      row.right.push(['ins', run]);
      row.isChanged = true;
    } else if (run < 0) {
      row.left.push(['del', kept.slice(at, at - run)]);
      row.isChanged = true;
      at -= run;
    } else {
      const lines = kept.slice(at, at + run).split('\n');
      at += run;
      lines.forEach((line, index) => {
        if (index > 0) close();
        row.left.push([null, line]);
        row.right.push([null, line]);
      });
    }
  }
  close();
  return rows;
}

/** A part of a text. Changed line ends can be seen; in other parts a carriage return says nothing. */
function part([name, text]) {
  if (name === null) return visible(text.replace(/\r$/, ''));
  return element(name, '', visible(text).replace(/\n/g, '↵\n'));
}

function cell(side, parts) {
  const made = element('div', side, ...parts.map(part));
  made.dir = 'auto';
  return made;
}

/** The elements of rows, two for each. */
function cells(rows) {
  return rows.flatMap(({ left, right, isChanged }) => {
    const pair = [cell('old', left), cell('new', right)];
    for (const made of pair) made.classList.toggle('same', !isChanged);
    return pair;
  });
}

/** A button that gives way to the equal rows it stands for. */
function folded(rows) {
  const button = element('button', 'folded', `Show ${plural(rows.length, 'equal line')}`);
  button.type = 'button';
  button.addEventListener('click', () => {
    button.replaceWith(...cells(rows));
    byId('difference').focus({ preventScroll: true });
  });
  return button;
}

/** The elements of a difference, in which equal rows far from all changes are folded. */
function differenceCells(rows) {
  const isNear = new Uint8Array(rows.length);
  rows.forEach((row, index) => {
    if (row.isChanged) isNear.fill(1, Math.max(0, index - CONTEXT), index + CONTEXT + 1);
  });
  const made = [];
  for (let start = 0, end; start < rows.length; start = end) {
    for (end = start + 1; end < rows.length && isNear[end] === isNear[start];) end++;
    const run = rows.slice(start, end);
    // A button is as high as a few lines.
    if (isNear[start] || run.length <= CONTEXT) made.push(...cells(run));
    else made.push(folded(run));
  }
  return made;
}

/** A part of a whole, signed: how much another number is above or below one. */
function change(number, from) {
  const percents = Math.round((number / from - 1) * 100);
  return percents === 0 ? 'about the same' : `${percents > 0 ? '+' : '−'}${count(Math.abs(percents))} %`;
}

/** A picture, or why there is none. */
function picture(url, member) {
  if (!url) return element('p', 'note', 'This image is not in this page.');
  const made = element('img', '');
  made.src = url;
  made.alt = oneLine(member.name);
  return made;
}

/** What is known of a picture, and how it differs from the kept one. */
function pictureFacts(member, from) {
  const [width, height, modified] = member.picture;
  const facts = [pixelsNote(member.picture), sizeNote(member.bytes), modified];
  if (from) {
    const [keptWidth, keptHeight] = from.picture;
    facts[0] += ` (${change(width * height, keptWidth * keptHeight)})`;
    if (member.bytes !== null && from.bytes) facts[1] += ` (${change(member.bytes, from.bytes)})`;
  }
  return element('p', 'note', facts.filter(fact => fact !== null).join(' · '));
}

/** Two pictures on top of each other, the kept one to the left of a slider. */
function overlay(kept, keptUrl, other, otherUrl) {
  const [under, over] = [picture(otherUrl, other), picture(keptUrl, kept)];
  const stack = element('div', 'stack', under, over);
  stack.style.aspectRatio = `${kept.picture[0]} / ${kept.picture[1]}`;
  const slider = element('input', '');
  Object.assign(slider, { type: 'range', id: 'slider', min: 0, max: 100, value: 50 });
  slider.setAttribute('aria-label', 'How much of the kept image covers the other one');
  const slide = () => { over.style.clipPath = `inset(0 ${100 - slider.value}% 0 0)`; };
  slider.addEventListener('input', slide);
  const blend = element('input', '');
  Object.assign(blend, { type: 'checkbox', id: 'blend' });
  blend.addEventListener('change', () => {
    stack.classList.toggle('blend', blend.checked);
    slider.disabled = blend.checked;
    if (blend.checked) over.style.clipPath = '';
    else slide();
  });
  const label = element('label', '', blend, ' difference of their pixels');
  slide();
  return element('div', 'overlay', stack, slider, label);
}

/** What is shown for two pictures of a group. */
function pictureContents(pictures, index) {
  const { kept, others } = current;
  const other = others[index];
  const [keptUrl, otherUrl] = [0, index + 1].map(at => pictures?.[at] ?? null);
  const shown = [[kept, keptUrl, null], [other, otherUrl, kept]].map(([member, url, from]) =>
    element('figure', '', picture(url, member),
      element('figcaption', 'name', oneLine(member.name)), pictureFacts(member, from)));
  const made = [element('div', 'pair', ...shown)];
  if (other.isExact) made.unshift(element('p', 'note', 'The files are equal.'));
  if (keptUrl && otherUrl) made.push(overlay(kept, keptUrl, other, otherUrl));
  return made;
}

/** What is shown for two members of a group: their difference, one text, or why there is none. */
function differenceContents(texts, index) {
  if (current.kept.picture) return pictureContents(texts?.pictures, index);
  if (!texts) return [element('p', 'note', 'The texts of this group are not in this page.')];
  const [kept, isKeptCut] = texts.kept;
  // The page has no second text for a copy.
  const other = texts.others[index] ?? (current.others[index].isExact ? [[kept.length], isKeptCut] : null);
  if (!other) return [element('p', 'note', 'The text of this document is not in this page.')];
  const [runs, isOtherCut] = other;
  const rows = differenceRows(kept, runs);
  const notes = [];
  const isCut = isKeptCut || isOtherCut;
  const cut = isCut ? [element('p', 'note cut',
    `Cut here. Of each text, the first ${byId('groups').dataset.maxChars} characters are compared.`)] : [];
  if (rows.some(row => row.isChanged)) {
    const names = [current.kept.name, current.others[index].name].map(name => element('span', 'name', oneLine(name)));
    const head = element('div', 'columns head',
      element('div', 'old', names[0], ' ', element('del', '', 'only here')),
      element('div', 'new', names[1], ' ', element('ins', '', 'only here')));
    notes.push(head, element('div', 'columns', ...differenceCells(rows), ...cut));
  } else {
    const lines = rows.map(row => row.left.map(part)).flatMap((parts, at) => (at ? ['\n', ...parts] : parts));
    const text = element('div', 'text', ...lines, ...cut);
    text.dir = 'auto';
    const equal = isCut && !current.others[index].isExact
      ? 'The texts are equal as far as they are compared.' : 'The texts are equal.';
    notes.push(element('p', 'note', kept ? equal : 'The texts are empty.'), text);
  }
  return notes;
}

// ---------------------------------------------------------------------------- the page

const groups = new Groups();
/** Only files can be marked. */
const choice = 'root' in byId('groups').dataset ? new Choice(groups, byId('groups').dataset.root) : null;
const search = byId('search');
const sort = byId('sort');
const direction = byId('direction');
const difference = byId('difference');
let isAscending = false;
let current;

const groupList = new ListBox(byId('group-list'), (row, group) => {
  const { members, bytes, similarity, distance } = groups;
  const numGoing = choice?.numGoing(group) ?? 0;
  row.classList.toggle('going', choice?.has(group, 0) ?? false);
  fillRow(row, groups.name[group], [
    numGoing ? `${count(numGoing)} of ${plural(members[group], 'member')} marked` : plural(members[group], 'member'),
    bytes[group] === null ? null : `${size(bytes[group])} in copies`,
    similarityNote(similarity[group]) ?? distanceNote(distance[group]),
  ]);
}, showGroup);

const memberList = new ListBox(byId('member-list'), (row, index) => {
  const member = current.others[index];
  const isGoing = choice?.has(current.group, index + 1) ?? false;
  row.classList.toggle('going', isGoing);
  fillRow(row, member.name, [
    isGoing ? 'marked' : null,
    member.isExact ? 'exact copy' : null,
    similarityNote(member.similarity),
    distanceNote(member.distance),
    pixelsNote(member.picture),
    sizeNote(member.bytes),
  ]);
}, showDifference);

/** Scrolls to what was chosen. On narrow screens it is below the list. */
function reveal(chosen) {
  chosen.scrollIntoView({ block: matchMedia('(max-width: 52rem)').matches ? 'start' : 'nearest' });
}

function showGroup(group, isByKey) {
  current = { group, ...groups.detail(group) };
  const { kept, others } = current;
  const title = byId('group-title');
  title.textContent = oneLine(kept.name);
  const unlisted = groups.members[group] - 1 - others.length;
  byId('group-note').textContent = [
    pixelsNote(kept.picture),
    sizeNote(kept.bytes),
    `compared with ${plural(groups.members[group] - 1, 'other member')}`,
    unlisted > 0 ? `${count(unlisted)} of them are not listed` : null,
  ].filter(note => note !== null).join(' · ');
  byId('group-detail').hidden = others.length === 0;
  memberList.chosen = others.length ? 0 : undefined;
  memberList.show(others.map((_, index) => index));
  if (others.length) showDifference(0, false);
  if (choice) showChoice();
  if (isByKey && others.length) memberList.box.focus({ preventScroll: true });
  reveal(title);
}

function showDifference(index, isByKey) {
  difference.replaceChildren(...differenceContents(groups.texts(current.group), index));
  if (!isByKey) return;
  difference.focus({ preventScroll: true });
  reveal(byId('difference-title'));
}

const columns = {
  bytes: groups.bytes,
  members: groups.members,
  similarity: groups.similarity,
  distance: groups.distance,
  name: groups.name.map(name => name.toLowerCase()),
};

/** Asks the reader before marks are lost. */
const askFirst = event => event.preventDefault();

/** Shows what is marked. `isDone` is false if it could not be. */
function showChoice(isDone = true) {
  if (choice.isSaved) removeEventListener('beforeunload', askFirst);
  else addEventListener('beforeunload', askFirst);
  const files = choice.files();
  const bytes = files.reduce((sum, { file }) => sum + (file.bytes ?? 0), 0);
  byId('choice-note').textContent = [
    isDone ? null : 'One file of a group stays.',
    files.length ? `${plural(files.length, 'file')} marked, ${size(bytes)}` : 'No file is marked.',
  ].filter(note => note !== null).join(' ');
  for (const id of ['save-list', 'save-commands', 'unmark']) byId(id).disabled = !files.length;
  byId('mark-first').setAttribute('aria-pressed', current ? choice.has(current.group, 0) : false);
  groupList.render();
  if (current) memberList.render();
}

/** Saves what is marked. */
function saveChoice(name, text) {
  save(name, text);
  choice.isSaved = true;
}

function setUpChoice() {
  const actions = {
    'mark-exact': () => choice.markOthers(groupList.items, true),
    'mark-others': () => choice.markOthers(groupList.items, false),
    unmark: () => choice.clear(),
    'save-list': () => saveChoice('nearprint-chosen.tsv', choice.list()),
    'save-commands': () => saveChoice('nearprint-chosen.sh', choice.commands()),
    'mark-first': () => choice.toggle(current.group, 0),
    'mark-member': () => choice.toggle(current.group, memberList.active + 1),
    'keep-member': () => choice.keepOnly(current.group, memberList.active + 1),
  };
  for (const [id, act] of Object.entries(actions)) {
    byId(id).addEventListener('click', () => showChoice(act() ?? true));
  }
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const at = document.activeElement;
    if (at === search || at === sort) return;
    if (at === groupList.box || !current) {
      if (event.key !== 'x' || !groupList.items.length) return;
      const group = groupList.items[groupList.active];
      showChoice(choice.numGoing(group) ? choice.set(group, []) : choice.keepOnly(group, 0));
    } else {
      const id = { x: 'mark-member', k: 'keep-member', f: 'mark-first' }[event.key];
      if (id) byId(id).click();
    }
  });
  showChoice();
}

/** Shows the groups that are searched for, in the chosen order. Groups without a value come last. */
function showGroups() {
  const wanted = search.value.trim().toLowerCase();
  const searchable = wanted && groups.searchable();
  const found = [];
  for (let group = 0; group < groups.length; group++) {
    if (!wanted || searchable[group].includes(wanted)) found.push(group);
  }
  const values = columns[sort.value];
  const sign = isAscending ? 1 : -1;
  found.sort((a, b) => {
    const [x, y] = [values[a], values[b]];
    if (x === y) return a - b;
    if (x === null || y === null) return x === null ? 1 : -1;
    return x < y ? -sign : sign;
  });
  byId('count').textContent = found.length === groups.length
    ? plural(groups.length, 'group')
    : `${count(found.length)} of ${plural(groups.length, 'group')}`;
  groupList.show(found);
}

/** Sets the direction of the order, which is read from the button. */
function setDirection(ascending) {
  isAscending = ascending;
  direction.textContent = ascending ? '↑' : '↓';
  const name = ascending ? 'Ascending' : 'Descending';
  direction.setAttribute('aria-label', `${name}: reverse the order`);
  direction.title = name;
}

search.addEventListener('input', showGroups);
sort.addEventListener('change', () => {
  setDirection(sort.value === 'name' || sort.value === 'distance');
  showGroups();
});
direction.addEventListener('click', () => {
  setDirection(!isAscending);
  showGroups();
});
search.addEventListener('keydown', event => {
  if (event.key !== 'ArrowDown' && event.key !== 'Enter') return;
  event.preventDefault();
  groupList.box.focus();
});

document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const at = document.activeElement;
  if (event.key === '/' && at !== search) {
    event.preventDefault();
    search.focus();
    search.select();
  } else if (event.key === 'Escape') {
    if (at === search) {
      event.preventDefault();
      search.value = '';
      showGroups();
      groupList.box.focus();
    } else if (difference.contains(at)) memberList.box.focus();
    else if (byId('group-detail').parentElement.contains(at)) groupList.box.focus();
  }
});

for (const option of [...sort.options]) {
  if (columns[option.value].every(value => value === null)) option.remove();
}
setDirection(sort.value === 'name' || sort.value === 'distance');
byId('groups').hidden = false;
showGroups();
if (choice) setUpChoice();
if (groups.length === 1) {
  byId('groups').classList.add('single');
  groupList.pick(0, false);
  scrollTo({ top: 0, behavior: 'instant' });
}
