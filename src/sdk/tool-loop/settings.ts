/**
 * What cairn does with each setting of a `ToolLoopAgent`. A test compares the table with the types of the installed package
 * `ai`, and `docs/agents.md` shows it. A setting that is not here is refused by name.
 */
import { AgentInvalid } from "../../ports/agent-invalid.ts";
import { nearest } from "../nearest.ts";

/**
 * `used`: it means the same here. `moot`: what it is for does not arise here, so it is accepted and has no effect.
 * `refused`: a run would silently go without it.
 */
export interface Handling {
  readonly as: "used" | "moot" | "refused";
  readonly says: string;
}

const used = (says: string): Handling => ({ as: "used", says });
const moot = (says: string): Handling => ({ as: "moot", says });
const refused = (says: string): Handling => ({ as: "refused", says });

const OPTION = used("sent with each request of the run");
const START = used("called before the first call of the model, at least once");
const STEP_START = used("called before each call of the model, at least once");
const STEP_END = used("called after each step, at least once");
const END = used("called before a run completes, at least once");
const TELEMETRY = used(
  "cairn traces runs itself (OTLP); an `integrations` of it is refused, since it would hear nothing",
);
const REPAIR = refused("cairn tells the model what does not fit, and the model calls again");
const FAILURES = refused("a failure is an event of the run, and webhooks tell of its end: leave it out");
const WRAP = refused("cairn calls the model itself: wrap the model with `wrapLanguageModel`");

export const SETTINGS: Readonly<Record<string, Handling>> = {
  id: moot("a run names its agent by `name`"),
  model: used("a model object, or a text for the AI Gateway, whose key is checked before a run starts"),
  instructions: used("a text or system messages; their `providerOptions` are refused"),
  tools: used("see the table of tools"),
  toolsContext: used("`context` of each `execute`"),
  temperature: OPTION,
  maxOutputTokens: OPTION,
  topP: OPTION,
  topK: OPTION,
  presencePenalty: OPTION,
  frequencyPenalty: OPTION,
  stopSequences: OPTION,
  seed: OPTION,
  reasoning: OPTION,
  providerOptions: OPTION,
  headers: used("sent with each request, and never recorded"),
  toolChoice: OPTION,
  activeTools: used("the tools that the model is offered"),
  toolOrder: used("the order in which tools are offered"),
  toolCallConcurrency: used("1: calls of one reply run one after the other; other numbers are refused"),
  stopWhen: used("asked after each step with results; the last reply is then the result"),
  prepareStep: used("asked before each call; what it returns is recorded, and a repeated beat uses the record"),
  prepareCall: used("asked at the start, after a restart and with another version of the agent; recorded"),
  output: used("the form of the result: the model is asked for it, and the result is what it parses"),
  runtimeContext: used("given to functions, with the fields of the task over it"),
  callOptionsSchema: used("the schema of the task, unless `task` is given"),
  toolApproval: used("who has to approve; `denied` fails the call before it starts"),
  timeout: used(
    "`totalMs` is the deadline of the run, `stepMs` of one reply, `toolMs` of a call; those of chunks are refused",
  ),
  telemetry: TELEMETRY,
  experimental_telemetry: TELEMETRY,
  onStart: START,
  experimental_onStart: START,
  onStepStart: STEP_START,
  experimental_onStepStart: STEP_START,
  onToolExecutionStart: used("called before each attempt of a call"),
  onToolExecutionEnd: used("called after each attempt of a call"),
  onStepEnd: STEP_END,
  onStepFinish: STEP_END,
  onEnd: END,
  onFinish: END,
  maxRetries: moot("cairn retries a provider by the rules of the run (`outageMax`, `fallbacks`)"),
  include: moot("cairn keeps the transcript, and no bodies of requests"),
  allowSystemInMessages: moot("messages come from the run, and none is a system message"),
  experimental_toolApprovalSecret: moot("approvals are kept in the store, and do not travel through the client"),
  onStepError: FAILURES,
  onError: FAILURES,
  onAbort: FAILURES,
  onLanguageModelCallStart: WRAP,
  onLanguageModelCallEnd: WRAP,
  repairToolCall: REPAIR,
  experimental_repairToolCall: REPAIR,
  experimental_refineToolInput: refused(
    "write it as a transform in the `inputSchema` of the tool: cairn records what it makes",
  ),
  experimental_toolCallers: refused("only the model calls tools here, so that each call has an intent and a key"),
  experimental_download: refused("files of a run are objects of its store, and are not downloaded from a URL"),
  _internal: refused("it is for tests of the AI SDK"),
};

/** What cairn does with each property of a tool. */
export const TOOL_PROPERTIES: Readonly<Record<string, Handling>> = {
  type: used(
    "`function` and `dynamic`; a tool of type `provider` is refused, since it runs at the provider without a key",
  ),
  description: used("a text, or a function of the context, asked when the file loads"),
  inputSchema: used("zod 4 and JSON Schemas (`jsonSchema()`) check the arguments before the call"),
  outputSchema: used("of a tool without `execute`: what fits as an answer"),
  contextSchema: moot("`toolsContext` is part of the code"),
  execute: used("gets the idempotency key as `toolCallId`; without it a call is a question to the client"),
  needsApproval: used("true, or a function of the arguments"),
  toModelOutput: used("what it returns is recorded as the result"),
  strict: used("sent with the description"),
  inputExamples: used("sent with the description"),
  providerOptions: used("sent with the description"),
  title: moot("for pages"),
  metadata: moot("for pages"),
  onInputStart: refused("arguments reach the tool as a whole"),
  onInputDelta: refused("arguments reach the tool as a whole"),
  onInputAvailable: refused("arguments reach the tool as a whole: read them in `execute`"),
  deferLoading: refused("all tools are described in each request: use `activeTools` or `prepareStep`"),
  id: refused("it runs at the provider, without a key of cairn"),
  args: refused("it runs at the provider, without a key of cairn"),
  isProviderExecuted: refused("it runs at the provider, without a key of cairn"),
  supportsDeferredResults: refused("it runs at the provider, without a key of cairn"),
};

export type ToolLoopSettings = Readonly<Record<string, unknown>>;

export const isGiven = (settings: ToolLoopSettings, key: string): boolean =>
  settings[key] !== undefined && settings[key] !== null;

/** The settings of the agent. Throws `AgentInvalid` for the first one that cairn's loop could not honour. */
export function toolLoopSettings(name: string, agent: object | undefined): ToolLoopSettings {
  // It may come from JavaScript.
  const { settings } = (agent ?? {}) as { readonly settings?: unknown };
  if (typeof settings !== "object" || settings === null) {
    throw new AgentInvalid(
      `agent ${name} is made of no ToolLoopAgent: write new ToolLoopAgent({ ... }) of the package ai`,
    );
  }
  refuseIn(`agent ${name}: the setting`, settings as ToolLoopSettings, SETTINGS);
  return settings as ToolLoopSettings;
}

/** Throws `AgentInvalid` for the first property that is set and is refused, or that nothing is known of. */
export function refuseIn(what: string, given: ToolLoopSettings, table: Readonly<Record<string, Handling>>): void {
  for (const key of Object.keys(given).filter((each) => isGiven(given, each))) {
    const handling = Object.hasOwn(table, key) ? table[key] : undefined;
    if (handling === undefined) {
      const meant = nearest(key, Object.keys(table));
      throw new AgentInvalid(
        `${what} ${key} is not known to this version of cairn, which would run without it: leave it out${meant === null ? "" : `, or write ${meant}`}`,
      );
    }
    if (handling.as === "refused") throw new AgentInvalid(`${what} ${key} cannot be used: ${handling.says}`);
  }
}

/** Both tables as Markdown, for the docs. */
export const tablesOfSettings = (): string =>
  [["setting of `ToolLoopAgent`", SETTINGS] as const, ["property of a tool", TOOL_PROPERTIES] as const]
    .map(([head, table]) =>
      [
        `| ${head} | | what it does |`,
        "|---|---|---|",
        ...Object.entries(table).map(([key, { as, says }]) => `| \`${key}\` | ${WORDS[as]} | ${says} |`),
      ].join("\n"),
    )
    .join("\n\n");

const WORDS: { readonly [A in Handling["as"]]: string } = { used: "used", moot: "no effect", refused: "refused" };
