/** `cairn start AGENT`: starts a run. With `--wait` it stays until the run has ended or needs a human. */
import * as z from "zod";
import { requireProviders } from "../../providers/named-model.ts";
import { checkHere } from "../check-here.ts";
import type { Agent } from "../../ports/agent.ts";
import { pricedBy } from "../../sdk/prices.ts";
import { registerResolution } from "../../sdk/resolution.ts";
import { DEFAULT_TENANT, isTenant, wrongWithKey } from "../../core/ids.ts";
import type { Json } from "../../core/json.ts";
import { hasEnded } from "../../protocol/row.ts";
import type { Tombstone } from "../../protocol/tombstone.ts";
import { capWords } from "../../history/spend-today.ts";
import { performOperation } from "../../operations/perform.ts";
import { OPERATIONS } from "../../operations/table.ts";
import type { SentFile } from "../../codec/file.ts";
import type { Started } from "../../operations/start.ts";
import { CliError, EXIT } from "../errors.ts";
import { readJson, retyped } from "../input.ts";
import { fileRefused, readFiles } from "../files.ts";
import { keepFile, locateTyped } from "../locate.ts";
import { type Opened, openSettled } from "../open.ts";
import { contextOf, refusedAs } from "../perform.ts";
import { exampleOf } from "../render/example.ts";
import { inked } from "../render/run.ts";
import { settingsOf } from "../settings.ts";
import { type BeatFlags, type Shell, printDocument } from "../shell.ts";
import { waitForRun } from "./wait.ts";
import { relative } from "../render/words.ts";

export interface StartFlags extends BeatFlags {
  readonly input?: string;
  /** Paths of the files of the task. */
  readonly file?: readonly string[];
  readonly key?: string;
  readonly wait?: true;
  readonly tenant?: string;
}

/** `cairn start AGENT`. Returns the exit code; with `--wait` the code depends on how the run ended. */
export async function start(shell: Shell, of: { readonly agent: string; readonly flags: StartFlags }): Promise<number> {
  const { flags } = of;
  checkNames(shell, flags);
  const input = flags.input === undefined ? {} : await readJson(shell, { option: "--input", text: flags.input });
  const files = readFiles(shell, flags.file);
  const settings = await settingsOf(shell, flags);
  shell.terminal.waitFor("loading the agent");
  registerResolution();
  const located = await locateTyped(shell, { name: of.agent, settings });
  const agent = pricedBy(located.agent, settings.prices);
  checkHere(agent, settings);
  await requireProviders(agent);
  shell.terminal.waitFor(null);
  const opened = await openSettled(shell, settings, { create: true });
  await keepFile(opened, located);
  const started = await startOrRefuse(shell, opened, { agent, input, files, flags });
  warnOfDropped(shell, agent, started);
  if (flags.wait !== true) return report(shell, opened, started);
  if (!shell.json) shell.terminal.out(headline(shell, opened, started));
  return waitForRun(shell, { opened, run: started.row.run });
}

function checkNames(shell: Shell, { tenant, key }: StartFlags): void {
  const wrong = key === undefined ? null : wrongWithKey(key);
  if (wrong !== null) {
    const next = retyped(shell, "--key", "order-42");
    throw new CliError({
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
  throw new CliError({ code: "Usage", exit: EXIT.usage, what: `${tenant} is not a tenant`, why, next });
}

type Accepted = Extract<Started, { readonly kind: "started" | "exists" }>;

async function startOrRefuse(
  shell: Shell,
  opened: Opened,
  of: { readonly agent: Agent; readonly input: Json; readonly files: SentFile[]; readonly flags: StartFlags },
): Promise<Accepted> {
  const { agent, input, files, flags } = of;
  const { settings } = opened;
  const { tenant = DEFAULT_TENANT, key = null } = flags;
  const by = `${shell.user()}@${shell.host()}`;
  const context = contextOf(shell, opened, { by, tenant, agentOf: async () => agent });
  const started = await performOperation(OPERATIONS.start, context, { agent: agent.name, input, files, key });
  // Cannot happen: the command has loaded the agent itself.
  if (started.kind === "agentUnknown") throw new Error(`no agent is named ${agent.name}`);
  if (started.kind === "invalid") throw inputInvalid(shell, { agent, why: started.why });
  if (started.kind === "fileInvalid") throw fileRefused(shell, OPERATIONS.start, started.why);
  if (started.kind === "ended") throw keyEnded(shell, opened, started.tombstone);
  if (started.kind === "limitReached" || started.kind === "budgetMissing") {
    const what = `${agent.name} starts no run for the tenant ${tenant}`;
    const why = OPERATIONS.start.outcomes[started.kind].says;
    throw refusedAs(OPERATIONS.start, started.kind, { what, why, next: settings.command("list") });
  }
  if (started.kind === "spendCapReached") {
    const what = "no run was started: the spend cap of the day is reached";
    throw refusedAs(OPERATIONS.start, started.kind, { what, why: capWords(started), next: settings.command("list") });
  }
  if (started.kind !== "conflict") return started;
  const { run } = started;
  throw refusedAs(OPERATIONS.start, "conflict", {
    what: `the key ${key} belongs to run ${run}, which was started with another input or other files`,
    why: "one key names one run; repeat the old input and files to get that run, or use another key for a new run",
    next: settings.command("show", run),
    facts: { run },
  });
}

/**
 * The error for an idempotency key of a finished run. A late retry learns that the work was done, and how it ended. To
 * do it again, the user picks another key.
 */
function keyEnded(
  shell: Shell,
  { world, settings }: Pick<Opened, "world" | "settings">,
  { run, status, endedAt, inputDigest, expiresAtSec }: Tombstone,
): CliError {
  const now = world.clock.now();
  const keptUntil = expiresAtSec * 1_000;
  const forget = settings.command("purge", run, "--forget-key");
  return refusedAs(OPERATIONS.start, "ended", {
    facts: { run, status, endedAt, keptUntil, inputDigest },
    what: `this key was used before: its run ${run} ${status} ${relative(endedAt, now)}, and the data of that run is removed`,
    why: `the key is kept so that a late retry does not start the work again; it becomes free ${relative(keptUntil, now)}, or after \`${forget}\``,
    next: retyped(shell, "--key", "ANOTHER_KEY"),
  });
}

function inputInvalid(shell: Shell, { agent, why }: { readonly agent: Agent; readonly why: string }): CliError {
  const schema = z.toJSONSchema(agent.task, { unrepresentable: "any", io: "input" }) as Json;
  const next = retyped(shell, "--input", JSON.stringify(exampleOf(schema)));
  const what = `the input does not match the task schema of ${agent.name}`;
  return refusedAs(OPERATIONS.start, "invalid", { what, why, next });
}

/** An unknown name is often a typing error: the agent would silently work with a default instead. */
function warnOfDropped({ terminal }: Shell, { name }: Agent, { dropped = [] }: Accepted): void {
  if (dropped.length === 0) return;
  terminal.err(`${name} does not get ${dropped.join(", ")}: its task schema has no such names, and drops them`);
}

function report(shell: Shell, opened: Opened, started: Accepted): number {
  const { run, agent, status } = started.row;
  const attendant = opened.attendant();
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
  const { command } = opened.settings;
  shell.terminal.out(headline(shell, opened, started));
  if (hasEnded(started.row)) shell.terminal.out(`to see it: ${command("show", run)}`);
  else if (attendant === null) shell.terminal.out(`${status}; run \`${command("work")}\``);
  else shell.terminal.out(`${attendant.name} works on it; watch it: ${command("watch", run)}`);
  return EXIT.done;
}

function headline({ terminal }: Shell, { world }: Opened, { kind, row }: Accepted): string {
  const { run, agent, status, statusSince } = row;
  const bold = terminal.paintOut("bold", run);
  if (kind === "started") return `started ${bold}  ${agent}`;
  const since = relative(statusSince, world.clock.now());
  return `exists  ${bold}  ${agent}: same key, same input; ${inked(status, terminal.paintOut)} ${since}`;
}
