/** What the options of agents and tools may be, as far as no schema of their own says it. */
import {
  SYNCHRONOUS,
  type DefinitionForms,
  FLAG,
  FUNCTION,
  type OptionForm,
  type Forms,
  RECORD,
  PARSED_AT_ONCE,
  TEXT,
  anyForm,
  listOf,
  namedApart,
  oneOf,
  orNull,
  withMembers,
} from "./option-forms.ts";

const CHECKS = 'a list of checks, each with a name of its own: done: [check("NAME", ({ calls }) => ...)]';

export const MODEL: OptionForm = {
  says: 'a model: a text such as "anthropic:claude-opus-4-5", or an object of the AI SDK',
  holds: (value) =>
    typeof value === "string"
      ? value !== ""
      : RECORD.holds(value) && typeof (value as { readonly modelId?: unknown }).modelId === "string",
};

export const TOOL_CHOICE: OptionForm = anyForm(
  oneOf("auto", "none", "required"),
  withMembers('{ type: "tool", toolName: NAME }', { type: oneOf("tool"), toolName: TEXT }),
);

/** A value, or a function of the run that makes it (`varying.ts`). */
const varying = ({ says, holds }: OptionForm): OptionForm => ({
  says: `${says}, or a function of the run`,
  holds: (value) =>
    holds(value) || FUNCTION.holds(value) || (RECORD.holds(value) && Object.hasOwn(value as object, "choose")),
});

export const AGENT_FORMS: Forms = {
  version: TEXT,
  model: varying(MODEL),
  instructions: varying(TEXT),
  activeTools: varying(listOf(TEXT, "a list of the names of tools")),
  toolChoice: varying(TOOL_CHOICE),
  task: PARSED_AT_ONCE,
  tools: { ...RECORD, says: "an object of tools by their names: tools: { NAME: tool({ ... }) }" },
  done: namedApart(listOf(withMembers("a check", { name: TEXT, holds: FUNCTION }), CHECKS)),
  result: SYNCHRONOUS,
  title: SYNCHRONOUS,
  output: PARSED_AT_ONCE,
  chat: anyForm(FLAG, { says: '{ idle: "2h" }', holds: (value) => RECORD.holds(value) && hasOnly(value, ["idle"]) }),
  models: { ...RECORD, says: 'an object of models by their names: models: { judge: "anthropic:claude-haiku-4-5" }' },
  budget: { ...RECORD, says: "an object such as { usd: 1, beats: 40 }" },
  price: { ...RECORD, says: "{ inUsd, outUsd } per million tokens" },
  schedule: { ...RECORD, says: 'an object such as { every: "rate(1 day)" }' },
  retention: { ...RECORD, says: "an object such as { hotDays: 7 }" },
  deadline: { ...RECORD, says: 'an object such as { after: "2h" }' },
  saga: { ...RECORD, says: 'an object such as { onFailure: "leave" }' },
  context: { ...RECORD, says: "an object such as { tokensMax: 100_000 }" },
  memory: { ...RECORD, says: "an object such as { limit: 5 }" },
  modelOptions: { ...RECORD, says: "an object such as { temperature: 0 }" },
  results: { ...RECORD, says: "an object such as { read: false }" },
  secrets: listOf(TEXT, 'a list of names: secrets: ["AIRLINE_TOKEN"]'),
  fallbacks: listOf(RECORD, 'a list of models: fallbacks: [{ model: "openai:gpt-5" }]'),
};

const SPAN: OptionForm = {
  says: 'milliseconds or a text such as "90s" or "2h"',
  holds: (value) => typeof value === "number" || typeof value === "string",
};
const APPROVAL = anyForm(oneOf("never", "always"), {
  says: "a function that returns why a human is asked, or false",
  holds: FUNCTION.holds,
});
const MILLISECONDS: OptionForm = { says: "a number of milliseconds", holds: (value) => typeof value === "number" };

const UNDO = withMembers('an object: undo: { effect: "keyed", run: async ({ input, key }) => ... }', {
  effect: TEXT,
  run: FUNCTION,
});

export const TOOL_FORMS: Forms = {
  description: TEXT,
  input: PARSED_AT_ONCE,
  output: orNull(PARSED_AT_ONCE),
  run: FUNCTION,
  probe: orNull(FUNCTION),
  before: FUNCTION,
  approval: APPROVAL,
  timeoutMs: orNull(MILLISECONDS),
  settleMs: orNull(MILLISECONDS),
  externalId: orNull(SYNCHRONOUS),
  key: orNull(SYNCHRONOUS),
  onExists: orNull(SYNCHRONOUS),
  claims: orNull(SYNCHRONOUS),
  redact: orNull(SYNCHRONOUS),
  retry: orNull({ ...RECORD, says: "an object such as { attempts: 3 }" }),
  undo: orNull(UNDO),
};

const LIMIT: Forms = {
  timeLimit: SPAN,
  atLimit: anyForm(oneOf("tell", "fail"), { says: "{ take: VALUE }", holds: RECORD.holds }),
};
const DESCRIBED: Forms = { description: TEXT, input: PARSED_AT_ONCE };

/** By the name of the function that takes them. */
export const DEFINITIONS = {
  "a child tool": {
    forms: {
      ...DESCRIBED,
      agent: TEXT,
      output: orNull(PARSED_AT_ONCE),
      budget: { ...RECORD, says: "an object such as { beats: 10 }" },
      deadlineMs: MILLISECONDS,
      tries: { says: "a number", holds: (value) => typeof value === "number" },
      wait: FLAG,
      mayEcho: FLAG,
      afterEffects: oneOf("refuse", "ask"),
      approval: APPROVAL,
      approvals: RECORD,
      onRollBack: oneOf("keep"),
    },
    needed: ["agent", "input", "budget"],
  },
  askHuman: { forms: { ...DESCRIBED, ...LIMIT, answer: PARSED_AT_ONCE } },
  waitFor: {
    forms: {
      ...DESCRIBED,
      ...LIMIT,
      event: anyForm({ says: "the name of an event", holds: TEXT.holds }, SYNCHRONOUS),
      detail: PARSED_AT_ONCE,
      until: SYNCHRONOUS,
    },
    needed: ["event"],
  },
  sleep: { forms: { description: TEXT, max: SPAN } },
  scriptedModel: { forms: { name: TEXT, reply: FUNCTION }, needed: ["name", "reply"] },
  scriptedAsynchronousModel: {
    forms: {
      name: TEXT,
      reply: FUNCTION,
      pending: { says: "a number of looks", holds: (value) => typeof value === "number" },
      lostStart: oneOf("find", "key", "none"),
    },
    needed: ["name", "reply"],
  },
  defineChaos: {
    forms: {
      input: FUNCTION,
      env: SYNCHRONOUS,
      prepare: FUNCTION,
      effects: orNull(FUNCTION),
      normalise: SYNCHRONOUS,
      standIns: RECORD,
      decide: SYNCHRONOUS,
      answer: SYNCHRONOUS,
    },
    needed: ["input"],
  },
} satisfies Readonly<Record<string, DefinitionForms>>;

function hasOnly(value: unknown, names: readonly string[]): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).every((each) => names.includes(each));
}
