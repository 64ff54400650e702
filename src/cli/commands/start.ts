/** `cairn start AGENT`: starts a run. With `--wait` it stays until the run has ended or needs a human. */
import { requireProviders } from "../../providers/named-model.ts";
import { checkHere, requireGatewayKey } from "../../compose/check-here.ts";
import type { Agent } from "../../ports/agent.ts";
import { pricedBy } from "../../sdk/prices.ts";
import { registerResolution } from "../../sdk/resolution.ts";
import { DEFAULT_TENANT, type RunLabels, isTenant, wrongWithKey } from "../../core/ids.ts";
import type { Json } from "../../core/json.ts";
import type { Tombstone } from "../../protocol/tombstone.ts";
import { capWords } from "../../features/spend-caps/today.ts";
import { callerTraceIn } from "../../codec/caller-trace.ts";
import type { OperationContext } from "../../operations/operation.ts";
import { OPERATIONS } from "../../operations/table.ts";
import type { OutcomeOf } from "../../operations/caller-outcome.ts";
import type { SentFile } from "../../codec/file.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { readJson, typedLabels } from "../input.ts";
import { fileRefused, readFiles } from "../files.ts";
import { keepFile, locateTyped } from "../../compose/locate.ts";
import { refusedAs } from "../perform.ts";
import { inked } from "../../render/run.ts";
import { type Settings, settingsOf } from "../../compose/settings.ts";
import { workerAhead } from "../../compose/supervise.ts";
import type { BeatFlags } from "../../compose/surroundings.ts";
import { type Shell, printDocument } from "../shell.ts";
import { overHttp, transportFor } from "../choose-transport.ts";
import type { StoreTransport, Transport } from "../transport.ts";
import { waitForRun } from "./wait.ts";
import { labelsText, relative, retyped } from "../../render/words.ts";

export interface StartFlags extends BeatFlags {
  readonly input?: string;
  /** Paths of the files of the task. */
  readonly file?: readonly string[];
  readonly key?: string;
  readonly traceparent?: string;
  readonly label?: readonly string[];
  readonly wait?: true;
  readonly tenant?: string;
}

/** `cairn start AGENT`. Returns the exit code; with `--wait` the code depends on how the run ended. */
export async function start(
  shell: Shell,
  { flags, agent }: { readonly agent: string; readonly flags: StartFlags },
): Promise<number> {
  checkNames(shell, flags);
  const labels = typedLabels(shell, flags.label);
  const input = flags.input === undefined ? {} : await readJson(shell, { option: "--input", text: flags.input });
  const files = readFiles(shell, flags.file);
  const settings = flags.api === undefined ? await settingsOf(shell, flags) : null;
  const store = settings === null || flags.wait !== true ? null : await undriven(shell, settings);
  const ahead = store === null ? null : workerAhead(shell);
  try {
    const { transport, name, agentOf } =
      settings === null
        ? await atApi(shell, flags.api ?? "", agent)
        : await withAgent(shell, agent, { settings, known: store?.transport ?? null });
    const started = await startOrRefuse(shell, transport, { agent: name, agentOf, input, files, labels, flags });
    warnOfDropped(shell, name, started);
    warnOfLabels(shell, labels, started);
    if (flags.wait !== true) return await report(shell, transport, started);
    if (!shell.json) shell.terminal.out(headline(shell, transport, started));
    return await waitForRun(shell, { transport, run: started.run, ...(ahead !== null && { ahead }) });
  } finally {
    ahead?.end();
  }
}

/**
 * The store, if this process is about to drive it: then its first worker loads while this process loads the agent. There
 * is no transport where there is no store yet: one without a run would be left if there is no such agent.
 */
async function undriven(
  shell: Shell,
  settings: Settings,
): Promise<{ readonly transport: StoreTransport | null } | null> {
  const { provider, world } = settings;
  if (provider.driver !== null) return null;
  if (!world.isThere()) return { transport: null };
  const transport = await transportFor(shell, settings, { create: false });
  const { opened } = transport;
  if (opened.supervision !== null && opened.supervision.current() === null) return { transport };
  opened.close();
  return null;
}

/** Where the run is started, and the agent as it is named there. */
interface Place {
  readonly transport: Transport;
  readonly name: string;
  readonly agentOf: () => Promise<Agent | null>;
}

/** The store, which remembers the file of the agent. */
async function withAgent(
  shell: Shell,
  typed: string,
  { settings, known }: { readonly settings: Settings; readonly known: StoreTransport | null },
): Promise<Place> {
  shell.terminal.waitFor("loading the agent");
  registerResolution();
  const located = await locateTyped(shell, { name: typed, settings });
  const agent = pricedBy(located.agent, settings.prices);
  checkHere(agent, settings);
  await requireProviders(agent);
  await requireGatewayKey(agent, settings);
  shell.terminal.waitFor(null);
  const transport = known ?? (await transportFor(shell, settings, { create: true }));
  await keepFile(transport.opened, located);
  return { transport, name: agent.name, agentOf: async () => agent };
}

/** The API has the agent. */
const atApi = async (shell: Shell, api: string, name: string): Promise<Place> => ({
  transport: await overHttp(shell, api),
  name,
  agentOf: async () => null,
});

function checkNames(shell: Shell, { tenant, key }: StartFlags): void {
  const wrong = key === undefined ? null : wrongWithKey(key);
  if (wrong !== null) {
    const next = retyped(shell, "--key", "order-42");
    throw new UserError({
      code: "Usage",
      exit: EXIT.usage,
      what: "the idempotency key cannot be used",
      why: wrong,
      next,
    });
  }
  if (tenant === undefined || isTenant(tenant)) return;
  const why = "a tenant is 1 to 24 lower-case letters and digits";
  const next = retyped(shell, "--tenant", DEFAULT_TENANT);
  throw new UserError({ code: "Usage", exit: EXIT.usage, what: `${tenant} is not a tenant`, why, next });
}

/** What is typed is refused if it is malformed; what the environment says is not. */
function tracedByFlag(shell: Shell, { traceparent }: StartFlags): Pick<OperationContext, "trace"> {
  if (traceparent === undefined) return {};
  // The state in the environment belongs to the trace that is named there.
  const trace = callerTraceIn({ traceparent, tracestate: null });
  if (trace !== null) return { trace };
  const what = `${JSON.stringify(traceparent)} is no traceparent`;
  const why =
    "the W3C's Trace Context writes 00-TRACE-SPAN-01, with 32 and 16 lower-case hex digits that are not all 0";
  const next = retyped(shell, "--traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  throw new UserError({ code: "Usage", exit: EXIT.usage, what, why, next });
}

type Accepted = Extract<OutcomeOf<"start">, { readonly kind: "started" | "exists" }>;

async function startOrRefuse(
  shell: Shell,
  transport: Transport,
  {
    agent,
    agentOf,
    input,
    files,
    labels,
    flags,
  }: {
    readonly agent: string;
    readonly agentOf: Place["agentOf"];
    readonly input: Json;
    readonly files: SentFile[];
    readonly labels: RunLabels;
    readonly flags: StartFlags;
  },
): Promise<Accepted> {
  const { command } = transport;
  const { tenant = DEFAULT_TENANT, key = null } = flags;
  const by = `${shell.user()}@${shell.host()}`;
  const local = { by, tenant, agentOf, ...tracedByFlag(shell, flags) };
  const started = await transport.perform("start", { agent, input, files, key, labels }, local);
  if (started.kind === "agentUnknown") throw agentUnknown(transport, agent);
  if (started.kind === "invalid") throw inputInvalid(shell, transport, { agent, ...started });
  if (started.kind === "fileInvalid") throw fileRefused(shell, OPERATIONS.start, started.why);
  if (started.kind === "ended") throw keyEnded(shell, transport, started.tombstone);
  if (started.kind === "limitReached" || started.kind === "budgetMissing") {
    const what = `${agent} starts no run for the tenant ${tenant}`;
    const why = OPERATIONS.start.outcomes[started.kind].says;
    throw refusedAs(OPERATIONS.start, started.kind, { what, why, next: command("list") });
  }
  if (started.kind === "spendCapReached") {
    const what = "no run was started: the spend cap of the day is reached";
    throw refusedAs(OPERATIONS.start, started.kind, { what, why: capWords(started), next: command("list") });
  }
  if (started.kind !== "conflict") return started;
  const { run } = started;
  throw refusedAs(OPERATIONS.start, "conflict", {
    what: `the key ${key} belongs to run ${run}, which was started with another input or other files`,
    why: "one key names one run; repeat the old input and files to get that run, or use another key for a new run",
    next: command("show", run),
    facts: { run },
  });
}

/**
 * The error for an idempotency key of a finished run. A late retry learns that the work was done, and how it ended. To
 * do it again, the user picks another key.
 */
function keyEnded(
  shell: Shell,
  { command, now: clock }: Transport,
  { run, status, endedAt, inputDigest, expiresAtSec }: Tombstone,
): UserError {
  const now = clock();
  const keptUntil = expiresAtSec * 1_000;
  const forget = command("purge", run, "--forget-key");
  return refusedAs(OPERATIONS.start, "ended", {
    facts: { run, status, endedAt, keptUntil, inputDigest },
    what: `this key was used before: its run ${run} ${status} ${relative(endedAt, now)}, and the data of that run is removed`,
    why: `the key is kept so that a late retry does not start the work again; it becomes free ${relative(keptUntil, now)}, or after \`${forget}\``,
    next: retyped(shell, "--key", "ANOTHER_KEY"),
  });
}

/** The agent is the server's: a store loads it before. */
function agentUnknown({ command }: Transport, agent: string): UserError {
  const what = `there is no agent named ${JSON.stringify(agent)}`;
  return refusedAs(OPERATIONS.start, "agentUnknown", { what, why: "the server has none", next: command("agents") });
}

/** `example`: an input that the task takes; null where none was found. */
function inputInvalid(
  shell: Shell,
  { command }: Transport,
  { agent, why, example = null }: { readonly agent: string; readonly why: string; readonly example?: Json },
): UserError {
  // The list has the schema of each task.
  const next = example === null ? command("agents", "--json") : retyped(shell, "--input", JSON.stringify(example));
  const what = `the input does not match the task schema of ${agent}`;
  return refusedAs(OPERATIONS.start, "invalid", { what, why, next });
}

/** An unknown name is often a typing error: the agent would silently work with a default instead. */
function warnOfDropped({ terminal }: Shell, name: string, { dropped = [] }: Accepted): void {
  if (dropped.length === 0) return;
  terminal.err(`${name} does not get ${dropped.join(", ")}: its task schema has no such names, and drops them`);
}

/** An API does not say which labels the run has. */
function warnOfLabels({ terminal }: Shell, given: RunLabels, { kind, summary }: Accepted): void {
  const { labels }: { readonly labels?: RunLabels } = summary;
  const [wanted, kept] = [labelsText(given), labelsText(labels)];
  if (kind !== "exists" || wanted === "" || wanted === kept) return;
  terminal.err(`the run exists, and keeps the labels of its first start${kept === "" ? "" : `: ${kept}`}`);
}

async function report(shell: Shell, transport: Transport, started: Accepted): Promise<number> {
  const { agent, status } = started.summary;
  const { run } = started;
  const attendant = await transport.attendant();
  if (shell.json) {
    printDocument(shell, {
      run,
      agent,
      status,
      started: started.kind === "started",
      ...(started.dropped && { dropped: [...started.dropped] }),
      supervisor: attendant?.id ?? null,
    });
    return EXIT.done;
  }
  const { command } = transport;
  shell.terminal.out(headline(shell, transport, started));
  if (ENDED.has(status)) shell.terminal.out(`to see it: ${command("show", run)}`);
  else if (attendant === null) shell.terminal.out(`${status}; run \`${command("work")}\``);
  else shell.terminal.out(`${attendant.name} works on it; watch it: ${command("watch", run)}`);
  return EXIT.done;
}

const ENDED: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);

function headline({ terminal }: Shell, { now }: Transport, { kind, run, summary }: Accepted): string {
  const { agent, status, statusSince } = summary;
  const bold = terminal.paintOut("bold", run);
  if (kind === "started") return `started ${bold}  ${agent}`;
  const since = relative(statusSince, now());
  return `exists  ${bold}  ${agent}: same key, same input; ${inked(status, terminal.paintOut)} ${since}`;
}
