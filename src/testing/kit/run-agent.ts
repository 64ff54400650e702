/**
 * Runs an agent in memory from start to end, with the real engine and protocol. Processes die where the test says; the
 * next one goes on from the last checkpoint, as in production.
 * A run that waits for something that no option answers ends the test with an error that says so.
 */
import { BUDGET } from "../../core/policy/extension.ts";
import type * as z from "zod";
import { seededRandom, virtualClock } from "../../adapters/memory/clock.ts";
import { memorySecrets } from "../../adapters/memory/secrets.ts";
import { withKernel } from "../../features/compose.ts";
import { type MemoryWorld, memoryWorld } from "../../adapters/memory/world.ts";
import type { LedgerEntry } from "../../codec/archive.ts";
import type { GivenFile } from "../../codec/file.ts";
import { asJson, sentenceOf } from "../../codec/value.ts";
import type { LoadedAgent } from "../../engine/context/runner.ts";
import { DEFAULT_TENANT } from "../../core/ids.ts";
import type { Json } from "../../core/json.ts";
import type { Status } from "../../core/phases.ts";
import type { ShownFile } from "../../operations/file-views.ts";
import { checkedFiles } from "../../operations/files.ts";
import { startRun } from "../../operations/start.ts";
import { type OpenGate, type TimelineEntry, type UnknownCall, ledger, show, timeline } from "../../operations/views.ts";
import type { OpenWait } from "../../operations/wait-views.ts";
import type { Agent, ModelChoice } from "../../ports/agent.ts";
import { readFile } from "../../history/files.ts";
import { limitsFor } from "../../protocol/limits.ts";
import { type Row, hasEnded } from "../../protocol/row.ts";
import { modelsOf } from "../../providers/model.ts";
import { AgentInvalid } from "../../ports/agent-invalid.ts";
import { isAgent } from "../../ports/is-agent.ts";
import { checkAgent } from "../../sdk/check.ts";
import { MODEL } from "../../sdk/definition-forms.ts";
import { FUNCTION, type OptionForm, RECORD, TEXT, anyForm, checkDefined, listOf } from "../../sdk/option-forms.ts";
import type { FakeService, ServiceEffect } from "./fake-service.ts";
import { type KillPoint, PassedPoints, checkedKillPoint } from "./kill-points.ts";
import type { EffectsNotReplaced } from "./effects-not-replaced.ts";
import { type AcceptedKind, type Operator, type Truth, answerEach } from "./operator.ts";
import { type StandingIn, standingIn } from "./stand-ins.ts";
import { TestProcess } from "./test-process.ts";
import { type NotGiven, agentNotGiven, modelNotGiven, tellingAgent } from "./not-given.ts";
import assert from "node:assert/strict";

export interface RunAgentOptions<Task extends z.ZodType = z.ZodType> {
  /** The input of the run. */
  readonly input: z.input<Task>;
  /** The files of the task. Without this option, a tool that reads a file which is not there ends the test. */
  readonly files?: readonly GivenFile[];
  /** Replaces the model of the agent, for example by a scripted or a recorded one. */
  readonly model?: ModelChoice;
  /**
   * Replaces what these tools do: their `run`, `probe` and `undo` call the service instead. `"worker.sendMail"` is a tool
   * of the child agent `worker`. Each tool that acts outside must be replaced, or `services` given.
   */
  readonly tools?: Readonly<Record<string, FakeService>>;
  /** Replaces all other tools. `recordedRun` gives it, so that a pinned test calls no tool. */
  readonly otherTools?: (tool: string) => FakeService;
  /**
   * Services that the agent's own tools call. They are reset first, and their effects are part of the result. If there
   * is one, the agent's own tools run, and each call of one that acts outside must leave an effect under its key in one
   * of them.
   */
  readonly services?: readonly FakeService[];
  /** The agents of its child runs. A child run of another agent ends the test. */
  readonly agents?: readonly Agent[];
  /** The values of declared secrets. A tool that reads another declared one ends the test. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** The moments at which the process dies, in any order; each once. */
  readonly killAt?: KillPoint | readonly KillPoint[];
  /** Decides about a gate. Default: every call is approved, and more budget is denied. */
  readonly decide?: (gate: OpenGate) => "approve" | "deny";
  /**
   * Gives what a call waits for: the answer to a question (`askHuman`), or the detail of an event (`waitFor`). Undefined:
   * nothing comes, and time passes until the limit of the wait. Default: nothing comes. Sleeps take no time.
   */
  readonly answer?: (wait: OpenWait) => Json | undefined;
  /**
   * Says what became of a call. Default: what the services know about its key. Null: that cannot be known; then the
   * `onUnknown` of its tool decides when its time has come, and a tool that asks an operator ends the test.
   */
  readonly reconcile?: (call: UnknownCall) => Truth | null;
}

/** A run that has ended. */
export interface AgentRun {
  readonly run: string;
  readonly agent: string;
  readonly status: Status;
  readonly result: Json;
  /** The files of the run with their bytes: of its task, and those that calls and the model made. */
  readonly files: readonly (ShownFile & { readonly content: Uint8Array })[];
  readonly failure: { readonly code: string; readonly message: string } | null;
  /** The ledger: one entry per call that a model proposed. */
  readonly calls: readonly LedgerEntry[];
  readonly timeline: readonly TimelineEntry[];
  readonly spent: { readonly usd: number; readonly tokensIn: number; readonly tokensOut: number };
  /** The effects in the services, in the order of the services. */
  readonly effects: readonly ServiceEffect[];
  /** The tools of the agent that `tools` replaced, with the name of their service; only those that act outside. */
  readonly replaced: Readonly<Record<string, string>>;
  /** The agent's own tools that act outside, and the names of `services`, of which one must show each effect. */
  readonly watched: { readonly tools: readonly string[]; readonly services: readonly string[] };
  /** The kill points that the run passed, in order. */
  readonly points: readonly KillPoint[];
  /** The moments at which its process died. */
  readonly killed: readonly KillPoint[];
  /** What the operator decided. */
  readonly decided: readonly AcceptedKind[];
}

const FORMS: { readonly [Option in keyof Required<RunAgentOptions>]: OptionForm } = {
  input: { says: "the input of the run: input: { ... }", holds: () => true },
  files: listOf(RECORD, "a list of files: files: [{ name, bytes }]"),
  model: MODEL,
  tools: { ...RECORD, says: "an object of fake services by the names of tools" },
  otherTools: FUNCTION,
  services: listOf(RECORD, "a list of fake services: services: [post]"),
  agents: {
    says: "a list of agents: agents: [worker]",
    holds: (value) => Array.isArray(value) && value.every(isAgent),
  },
  secrets: { ...RECORD, says: 'an object of values by the names of secrets: secrets: { TOKEN: "..." }' },
  killAt: anyForm(TEXT, listOf(TEXT, "a list of kill points")),
  decide: FUNCTION,
  answer: FUNCTION,
  reconcile: FUNCTION,
};

/** Attempts of all executions, after which the run counts as endless. */
const ATTEMPTS_MAX = 10_000;
const BEAT_MS = 60_000;
/** How often calls of unknown outcome are repeated since the services know nothing of them. */
const REPEATS_MAX = 50;

/**
 * Runs the agent until its run has ended, in any status. Throws if the agent or the input is invalid, if the run waits
 * for something that no option answers, or if it does not end. Throws `EffectsNotReplaced` before anything runs if the
 * agent, or one of `agents`, has a tool that acts outside and that the test neither replaces nor gives services for.
 * Throws `NotGiven` if the run needs an agent, a secret or a file that production would have and the test does not give.
 *
 * @example
 *   const run = await runAgent(clerk, { input: { to: "Ada" }, tools: { send: post }, killAt: "after:effect:send" });
 *   assert.equal(run.status, "completed");
 *   expectEffectsOnce(run);
 */
export async function runAgent<Task extends z.ZodType>(
  agent: Agent<Task>,
  options: RunAgentOptions<Task>,
): Promise<AgentRun> {
  if (!isAgent(agent)) throw new AgentInvalid("runAgent has no agent: give what defineAgent returns");
  checkDefined("runAgent", options, { forms: FORMS, needed: ["input"] });
  return new Course(agent, options).untilEnded();
}

class Course {
  readonly #options: RunAgentOptions;
  readonly #agent: Agent;
  readonly #agents: ReadonlyMap<string, LoadedAgent>;
  readonly #clock = virtualClock(Date.now());
  readonly #world: MemoryWorld;
  readonly #services: readonly FakeService[];
  readonly #points = new PassedPoints();
  readonly #killAt: Set<KillPoint>;
  readonly #killed: KillPoint[] = [];
  readonly #decided: AcceptedKind[] = [];
  readonly #stands: StandingIn;
  /** What the run met that the test does not give, or a tool that a server lists and that would have acted outside. */
  #refused: EffectsNotReplaced | NotGiven | null = null;
  #process: TestProcess | null = null;
  #lastError: unknown = null;

  constructor(agent: Agent, options: RunAgentOptions) {
    const { tools = {}, services = [], agents = [], secrets = {}, killAt = [], model = agent.model } = options;
    this.#options = options;
    this.#stands = standingIn(agent, options, (refused) => (this.#refused ??= refused));
    this.#agent = { ...this.#stands.replaced(agent), model };
    const all = [this.#agent, ...agents.map((each) => this.#stands.replaced(each))].map((each) =>
      tellingAgent(each, options, (missing) => (this.#refused ??= missing)),
    );
    this.#world = withKernel(
      memoryWorld({
        clock: this.#clock,
        limits: limitsFor(BEAT_MS),
        random: seededRandom("runAgent"),
        secrets: memorySecrets(secrets),
      }),
    );
    for (const each of all) checkAgent(each, this.#world.limits);
    const loaded = all.map((each): [string, LoadedAgent] => [
      each.name,
      { kind: "agent", agent: each, ...modelsOf(each, this.#noKeyOf(each.name)) },
    ]);
    this.#agents = new Map(loaded);
    this.#services = [...new Set([...Object.values(tools), ...services])];
    this.#killAt = new Set([killAt].flat().map(checkedKillPoint));
    for (const service of this.#services) service.reset();
  }

  /** Each request of a model that is named by a text asks for the key of its provider first. */
  #noKeyOf(agent: string): () => Promise<null> {
    return async () => {
      this.#refused ??= modelNotGiven(agent);
      return null;
    };
  }

  async untilEnded(): Promise<AgentRun> {
    const { run } = await this.#start();
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const row = await this.#world.table.read(run, this.#clock.now());
      if (row === null) throw new Error(`run ${run} is gone`);
      if (hasEnded(row) && row.endNotified) return this.#outcome(run);
      const [name] = this.#world.chain.ready(this.#clock.now());
      if (name === undefined) await this.#wait(row);
      else await this.#attempt(name);
      if (this.#refused !== null) throw this.#refused;
    }
    const why = this.#lastError === null ? "" : `; the last error was: ${sentenceOf(this.#lastError)}`;
    throw new Error(`run ${run} did not end after ${ATTEMPTS_MAX} attempts${why}`, { cause: this.#lastError });
  }

  async #start(): Promise<Row> {
    const input = asJson(this.#options.input);
    if (!input.ok) throw new Error(`the input of agent ${this.#agent.name} is not JSON: ${input.why}`);
    const files = checkedFiles(this.#options.files ?? []);
    if (!files.ok) throw new Error(`the files of the task are not accepted: ${files.why}`);
    const of = { agent: this.#agent, input: input.json, files: files.contents };
    const started = await startRun(this.#world, { ...of, tenant: DEFAULT_TENANT, idempotencyKey: "test" });
    if (started.kind === "started") return started.row;
    const why = started.kind === "invalid" ? started.why : started.kind;
    throw new Error(`agent ${this.#agent.name} was not started: ${why}`);
  }

  async #attempt(name: string): Promise<void> {
    const { chain } = this.#world;
    const { task, attempt } = chain.begin(name);
    this.#process ??= this.#newProcess();
    const performed = await this.#process.perform(task);
    if (performed.kind === "result" && performed.result.kind !== "exit") {
      chain.end(name, attempt, performed.result);
      return;
    }
    this.#process = null;
    if (performed.kind === "result" && performed.result.kind === "exit") {
      chain.end(name, attempt, { kind: "beat", reply: performed.result.reply });
      return;
    }
    if (performed.kind === "threw") this.#lastError = performed.error;
    chain.end(name, attempt, null, performed.kind === "died");
  }

  #newProcess(): TestProcess {
    return new TestProcess({
      world: this.#world,
      clock: this.#clock,
      agentOf: (name) => this.#agentNamed(name),
      onMoment: (moment) => {
        const point = this.#points.add(moment);
        if (!this.#killAt.delete(point)) return false;
        this.#killed.push(point);
        return true;
      },
    });
  }

  #agentNamed(name: string): LoadedAgent | null {
    const found = this.#agents.get(name) ?? null;
    if (found === null) this.#refused ??= agentNotGiven(name);
    return found;
  }

  /** No execution is due: the operator acts, or time passes. */
  async #wait({ run, status }: Row): Promise<void> {
    const rows = [...this.#world.store.rows.values()].filter(needsOperator);
    const times: number[] = [];
    for (const row of rows) {
      const agent = this.#agents.get(row.agent)?.agent ?? null;
      const { decided, unanswered, waiting, reconcilableFrom } = await answerEach(
        this.#world,
        row.run,
        this.#operator(agent),
      );
      this.#decided.push(...decided);
      if (this.#decided.filter((each) => each === "repeated").length > REPEATS_MAX) throw neverKnown(row.agent);
      if (decided.length > 0) return;
      if (reconcilableFrom !== null) times.push(reconcilableFrom);
      // Where its tool says what follows, no operator is needed: time passes, and that follows.
      for (const call of unanswered) if (call.otherwise === "ask") throw noTruth(call);
      for (const wait of waiting) if (wait.until === null) throw noInput(wait);
    }
    const next = Math.min(this.#world.chain.next() ?? Infinity, ...times);
    if (next === Infinity) throw new Error(`run ${run} is ${status}, and nothing continues it`);
    this.#clock.moveTo(Math.max(next, this.#clock.now()));
  }

  #operator(agent: Agent | null): Operator {
    const { decide = ({ call }) => (call === BUDGET ? "deny" : "approve"), reconcile } = this.#options;
    const { answer: input = () => undefined } = this.#options;
    return { by: "test", agent, decide, input, truth: reconcile ?? ((call) => this.#truthOf(call)) };
  }

  #truthOf({ key }: UnknownCall): Truth | null {
    if (this.#services.length === 0) return null;
    for (const service of this.#services) {
      const probe = service.probe({ key });
      const result = probe.kind === "happened" ? asJson(probe.result) : null;
      if (result !== null) return { kind: "happened", result: result.ok ? result.json : null };
    }
    return { kind: "absent" };
  }

  async #outcome(run: string): Promise<AgentRun> {
    const [shown, row] = [await show(this.#world, run), await this.#world.table.read(run, this.#clock.now())];
    if (shown === null || row === null) throw new Error(`run ${run} is gone`);
    const files = shown.files.map(async (each) => ({
      ...each,
      content: await readFile(this.#world.objects, row, each.file),
    }));
    const { agent, status, result, failure, spent } = shown;
    const { services = [] } = this.#options;
    return {
      run,
      agent,
      status,
      result,
      failure,
      spent,
      files: await Promise.all(files),
      calls: (await ledger(this.#world, run)) ?? [],
      timeline: (await timeline(this.#world, { run, after: 0 })) ?? [],
      effects: this.#services.flatMap(({ effects }) => [...effects]),
      replaced: this.#stands.services,
      watched: { tools: this.#stands.own, services: services.map(({ name }) => name) },
      points: this.#points.passed,
      killed: this.#killed,
      decided: this.#decided,
    };
  }
}

const needsOperator = ({ status, wakeCount, wakeCountSeen, owner }: Row): boolean =>
  (status === "blocked" || status === "waiting") && wakeCount === wakeCountSeen && owner === null;

function noTruth({ call, tool, key }: UnknownCall): assert.AssertionError {
  const message =
    `the outcome of call ${call} of ${tool} is unknown, and the run waits for an operator: ` +
    `pass the service that it calls, or reconcile: (call) => ({ kind: "happened", result }), or let onUnknown of the tool decide. Its key is ${key}`;
  return new assert.AssertionError({ message });
}

function neverKnown(agent: string): assert.AssertionError {
  const message =
    `calls of agent ${agent} are repeated again and again, since their outcome is unknown each time and no service knows ` +
    "of them: let the service reply, or pass reconcile: () => null, so that onUnknown of the tool decides";
  return new assert.AssertionError({ message });
}

function noInput({ call, tool, for: what, event }: OpenWait): assert.AssertionError {
  const waits = what === "answer" ? "for a human's answer" : `for event ${event ?? ""}`;
  const message =
    `call ${call} of ${tool} waits ${waits} without a limit: ` +
    `pass answer: ({ tool, args }) => (tool === "${tool}" ? VALUE : undefined)`;
  return new assert.AssertionError({ message });
}
