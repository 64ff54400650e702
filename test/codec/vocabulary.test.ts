/**
 * The vocabulary of the stored format: every word of which older code knows a closed list (kinds of events, actions and
 * messages, phases, outcomes, cracks, ...). Older code refuses to read a word that it does not know. So each word
 * stands in `vocabulary.txt` under the level that reads it first, and a commit with a new word needs a new level.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { expect, test } from "vitest";
import { commitRecords } from "../../src/codec/schema/event.ts";
import { messages, storedState } from "../../src/codec/schema/state.ts";
import { HELD } from "../../src/core/calls/held-calls.ts";
import type { Action, MessageBody } from "../../src/core/event.ts";
import { LEVELS } from "../../src/core/levels.ts";
import { PHASE_NAMES } from "../../src/core/phases.ts";

/** The kinds of messages and of decisions. The compiler names one that is not here. */
const MESSAGE_KINDS: Readonly<Record<MessageBody["kind"], true>> = {
  answer: true,
  assign: true,
  child: true,
  compensate: true,
  decision: true,
  reconcile: true,
  signal: true,
  upgrade: true,
  user: true,
  userFiles: true,
};
const ACTION_KINDS: Readonly<Record<Action["kind"], true>> = {
  abort: true,
  again: true,
  askAgain: true,
  block: true,
  cancel: true,
  compact: true,
  compensate: true,
  force: true,
  hold: true,
  intrinsicChanged: true,
  leaveOut: true,
  limitReply: true,
  nudge: true,
  postpone: true,
  probe: true,
  restart: true,
  retry: true,
  stop: true,
  takeover: true,
  tell: true,
  toolBack: true,
  tryAgain: true,
  undo: true,
  warn: true,
};

const FILE = join(import.meta.dirname, "vocabulary.txt");

/** Sections `# level N`, each with lines `path: word`. */
const written = readFileSync(FILE, "utf8")
  .split(/^# level /mu)
  .slice(1)
  .map((section) => {
    const [level, ...words] = section.split("\n").filter((line) => line !== "");
    return { level: Number(level), words };
  });

interface Node {
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly items?: Node;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: Node | boolean;
  readonly anyOf?: readonly Node[];
  readonly oneOf?: readonly Node[];
}

function* wordsIn(node: Node, path: string): Generator<string> {
  const { const: word, enum: words = [], items, properties = {}, additionalProperties, anyOf = [], oneOf = [] } = node;
  for (const each of [word, ...words]) if (typeof each === "string") yield `${path}: ${each}`;
  for (const each of [...anyOf, ...oneOf]) yield* wordsIn(each, path);
  if (items !== undefined) yield* wordsIn(items, path);
  if (typeof additionalProperties === "object") yield* wordsIn(additionalProperties, path);
  for (const [name, each] of Object.entries(properties)) yield* wordsIn(each, path === "" ? name : `${path}.${name}`);
}

function vocabulary(): readonly string[] {
  const format = z.object({ commits: commitRecords, state: storedState, messages });
  const schema = z.toJSONSchema(format, { unrepresentable: "any", io: "input", reused: "inline" });
  const phases = PHASE_NAMES.map((name) => `phase: ${name}`);
  return [...new Set([...wordsIn(schema as Node, ""), ...phases])].toSorted();
}

test("every word of the stored format stands under the level that reads it first", () => {
  const missing = `write new words into ${FILE} under the level that adds them (src/core/levels.ts)`;
  expect(written.flatMap(({ words }) => words).toSorted(), missing).toEqual(vocabulary());
});

test("the levels of the vocabulary are those of this code", () => {
  expect(written.map(({ level }) => level)).toEqual(LEVELS.map(({ level }) => level));
});

// A schema of a union fits its type also where it lacks a kind.
test.each([
  ["message", "commits.events.body.kind", MESSAGE_KINDS],
  ["decision", "commits.events.action.kind", ACTION_KINDS],
  ["hold", "state.open.heldBy.by", HELD],
] as const)("each kind of %s has a schema", (_, path, kinds) => {
  const known = vocabulary().flatMap((word) => (word.startsWith(`${path}: `) ? [word.slice(path.length + 2)] : []));
  expect(known).toEqual(Object.keys(kinds).toSorted());
});
