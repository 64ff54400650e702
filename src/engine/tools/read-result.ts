/**
 * The tool `cairn_read`: the model reads parts of values that are too long to show. It is offered once a transcript has
 * such a value. It reads what is stored, so it sees nothing that redaction has removed, and nothing of other runs.
 */
import * as z from "zod";
import type { Agent, Tool } from "../../ports/agent.ts";
import { placesOf, rangeOf } from "../../codec/excerpt.ts";
import { SIZES } from "../../codec/limits.ts";
import { canonical } from "../../codec/canonical.ts";
import { prefixMemo } from "../../codec/prefix-memo.ts";
import { READ_RESULT, hasLargeValue, storedValue } from "../../core/calls/stored-values.ts";
import type { Json } from "../../core/json.ts";
import type { State } from "../../core/state.ts";
import type { ActiveRun } from "../context/active-run.ts";

const LENGTH = 4_000;
const LINES = 200;

const input = z.strictObject({
  result: z
    .string()
    .min(1)
    .max(SIZES.nameCharactersMax)
    .describe("the ID of the call, or the name that the text gives"),
  offset: z.int().nonnegative().optional().describe("the first character, from 0; also where a search begins"),
  length: z.int().positive().max(SIZES.readCharactersMax).optional().describe(`characters; default ${LENGTH}`),
  line: z.int().positive().optional().describe("the first line, from 1, in place of offset"),
  lines: z.int().positive().max(SIZES.readLinesMax).optional().describe(`lines; default ${LINES}`),
  search: z.string().min(1).max(SIZES.searchCharactersMax).optional().describe("a text to find, in any case"),
});

type Input = z.output<typeof input>;

const WAYS =
  "give offset and length, or line and lines, or search with or without offset, and nothing of the other ways";

/** As agents and models see it. `readTool` has what it does in a run. */
const READ: Tool = {
  description:
    "Reads a part of a result that is too long to show: a range of characters or lines, or the places of a text. " +
    "`next` is the offset at which to go on. A result that is not text is read as its JSON.",
  input,
  output: null,
  effect: "none",
  probe: null,
  approval: "never",
  timeoutMs: null,
  settleMs: null,
  externalId: null,
  key: null,
  onExists: null,
  onUnknown: null,
  parallel: true,
  retry: null,
  claims: null,
  undo: null,
  redact: null,
  run: () => {
    throw new Error(`${READ_RESULT} reads the results of a run, and there is none`);
  },
};

/** The tool of that name, if it is the one that cairn adds. */
export const builtInTool = (name: string): Tool | null => (name === READ_RESULT ? READ : null);

/** Each step asks for it, so only the messages that are new since the last step are searched. */
const largeIn = prefixMemo({
  start: () => ({ isIn: false }),
  copy: (found) => ({ ...found }),
  add: (found, message) => {
    found.isIn ||= hasLargeValue(message);
  },
});

/** The agent with `cairn_read`, once the run has a value that is too long to show, unless the agent declines it. */
export function withReading(state: Pick<State, "messages">, agent: Agent): Agent {
  if (agent.readsResults === false || !largeIn(state.messages).isIn) return agent;
  return { ...agent, tools: { ...agent.tools, [READ_RESULT]: READ } };
}

/** The tool as it acts in this run. */
export function inRun(run: ActiveRun, tool: Tool): Tool {
  return tool === READ ? { ...READ, run: (context) => read(run, context.input as Input) } : tool;
}

async function read(run: ActiveRun, given: Input): Promise<Json> {
  const { result, offset, length, line, lines, search } = given;
  const isSearch = search !== undefined;
  const ofLines = line !== undefined || lines !== undefined;
  if ((isSearch && (ofLines || length !== undefined)) || (ofLines && (offset !== undefined || length !== undefined))) {
    throw new Error(`ReadInvalid: ${WAYS}`);
  }
  const value = storedValue(run.state.messages, result);
  if (value === null) {
    throw new Error(
      `UnknownResult: this run has no single result ${JSON.stringify(result)}: ` +
        "give the ID of a call that has a result, such as c1, or the name that a text too long to show gives",
    );
  }
  const json = await run.json(value);
  const text = typeof json === "string" ? json : canonical(json);
  if (isSearch) return placesOf(text, { search, offset: offset ?? 0 });
  return rangeOf(
    text,
    ofLines ? { line: line ?? 1, lines: lines ?? LINES } : { offset: offset ?? 0, length: length ?? LENGTH },
  );
}
