/** Every command of the command line, over HTTP: what it asks the API, or why it cannot. */
import { existsSync, writeFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import type { SuccessOf } from "../../operations/operation.ts";
import type { TimelineEntry } from "../../operations/views.ts";
import type { Status } from "../../core/phases.ts";
import { OPERATIONS, type OperationName } from "../../operations/table.ts";
import type { InputTo, RunDocument } from "../../client/client.ts";
import { alreadyThere, unwritable } from "../commands/export.ts";
import { sinceOf } from "../commands/audit-log.ts";
import type { ListFlags } from "../commands/show.ts";
import { CliError, EXIT, type ExitCode } from "../errors.ts";
import { readFiles } from "../files.ts";
import { readJson } from "../input.ts";
import type { Shell } from "../shell.ts";
import { renderLedger } from "../render/ledger.ts";
import { renderReceipt } from "../render/receipt.ts";
import { renderRun } from "../render/run.ts";
import { UNTOLD } from "../render/story.ts";
import { tell } from "../render/timeline.ts";
import { type Answer, type Remote, type RemoteCommand, textIn } from "./command.ts";
import { decide } from "./decide.ts";
import { MEMORY_COMMANDS } from "./memory.ts";

const HERE = "it works on this machine";
const STORE = "it needs the store itself, or the settings of the deployment";

export const REMOTE: Readonly<Record<string, RemoteCommand>> = {
  start,
  list,
  watch,
  timeline,
  send,
  fork,
  schedules,
  ...MEMORY_COMMANDS,
  show: async ({ client, words: [run = ""], command, style }) => {
    const document = (await client.get(run)) as RunDocument;
    return { document, text: renderRun(document, { ...style, command }) };
  },
  ledger: async ({ client, words: [run = ""], style }) => {
    const lines = await client.ledger(run);
    return { lines, text: lines.length === 0 ? "the model has not called a tool yet" : renderLedger(lines, style) };
  },
  cost: async ({ client, words: [run = ""], style }) => {
    const { receipt } = await client.cost(run);
    return { document: receipt, text: renderReceipt(receipt, style) };
  },
  diagnose: async ({ client, words: [run = ""] }) => shownAsJson(await client.diagnose(run)),
  verify: async ({ client, words: [run = ""] }) => shownAsJson(await client.verify(run)),
  snapshot: async ({ client, words: [run = "", version = ""] }) =>
    shownAsJson(await client.snapshot(run, Number(version))),
  replay: async ({ client, words: [run = ""], flags }) => {
    const at = flags["at"];
    const against = textIn(flags, "against");
    return shownAsJson(
      await client.replay(run, { ...(typeof at === "number" && { at }), ...(against !== undefined && { against }) }),
    );
  },
  agents: async ({ client }) => shownAsJson(await client.agents()),
  approvals: async ({ client }) => shownAsJson(await client.approvals()),
  "audit-log": async ({ client, shell, words: [run], flags, style }) => {
    const actor = textIn(flags, "actor");
    const since = sinceOf(shell, textIn(flags, "since"), style.now);
    const { entries } = await client.auditLog({
      ...(run !== undefined && { run }),
      ...(actor !== undefined && { actor }),
      ...(since !== null && { since }),
    });
    return { lines: entries, text: entries.map((entry) => JSON.stringify(entry)).join("\n") };
  },
  approve: (of) => decide(of, "approve"),
  deny: (of) => decide(of, "deny"),
  answer: async ({ client, shell, words: [run = "", call = ""], flags }) =>
    told(
      "answer",
      await client.answer(
        run,
        call,
        await readJson(shell, { option: "--result", text: textIn(flags, "result") ?? "" }),
      ),
    ),
  signal: async ({ client, shell, words: [run = "", event = ""], flags }) => {
    const [detail, id] = [textIn(flags, "detail"), textIn(flags, "key")];
    const options = {
      ...(detail !== undefined && { detail: await readJson(shell, { option: "--detail", text: detail }) }),
      ...(id !== undefined && { id }),
    };
    return told("signal", await client.signal(run, event, options));
  },
  reconcile: async ({ client, shell, words: [run = "", call = ""], flags }) => {
    const [result, note] = [textIn(flags, "result"), textIn(flags, "note")];
    const outcome = await client.reconcile(run, call, {
      as: textIn(flags, "as") as "succeeded",
      ...(result !== undefined && { result: await readJson(shell, { option: "--result", text: result }) }),
      ...(note !== undefined && { note }),
    });
    return told("reconcile", outcome);
  },
  pause: async ({ client, words: [run = ""] }) => told("pause", await client.pause(run)),
  resume: async ({ client, words: [run = ""], flags }) =>
    flags["upgrade"] === true ? told("upgrade", await client.upgrade(run)) : told("resume", await client.resume(run)),
  cancel: async ({ client, words: [run = ""], flags }) => {
    const agent = textIn(flags, "agent");
    if (flags["all"] === true && agent !== undefined) {
      const { more, ...outcome } = await client.cancelAll(agent, { confirmed: flags["yes"] === true });
      const rest = more ? "; type the same command again for the others" : "";
      return { document: { ...outcome, more }, text: `${outcome.runs.length} live runs of ${agent} will end${rest}` };
    }
    return told("cancel", await client.cancel(run, { compensate: flags["compensate"] === true }));
  },
  restart: async ({ client, words: [run = ""], flags }) =>
    told("restart", await client.restart(run, { confirmed: flags["yes"] === true })),
  redrive: async ({ client, words: [run = ""], flags }) =>
    told("redrive", await client.redrive(run, { why: textIn(flags, "why") ?? "" })),
  checked: async ({ client, words: [run = ""], flags }) =>
    told("checked", await client.checked(run, { why: textIn(flags, "why") ?? "" })),
  assign: async ({ client, words: [run = "", to = ""] }) => told("assign", await client.assign(run, to)),
  purge: async ({ client, words: [run = ""], flags, command }) => {
    if (flags["yes"] !== true) throw notConfirmed(run, command("purge", run, "--yes"));
    const outcome = await client.purge(run, {
      keepArchive: flags["keepArchive"] === true,
      forgetKey: flags["forgetKey"] === true,
    });
    return told("purge", outcome);
  },
  export: async ({ client, shell, words: [run = ""], flags }) => {
    const out = textIn(flags, "out") ?? `${run}.jsonl.gz`;
    const bytes = await client.export(run);
    const plain = bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : Buffer.from(bytes);
    if (out === "-") return { lines: [], document: undefined, text: plain.toString().trimEnd() };
    writeNew(shell, out, out.endsWith(".gz") ? gzipSync(plain) : plain);
    return { document: { run, file: out }, text: `${run} is exported to ${out}` };
  },
  file: async ({ client, shell, words: [run = "", file = ""], flags }) => {
    const out = textIn(flags, "out") ?? basename(file);
    writeNew(shell, out, await client.file(run, file));
    return { document: { run, file: out }, text: `${file} is written to ${out}` };
  },
  init: HERE,
  dev: HERE,
  serve: HERE,
  work: STORE,
  pin: `${HERE}: export the run, and pin where its agent is`,
  chaos: HERE,
  audit: STORE,
  doctor: STORE,
  rollout: STORE,
  backup: STORE,
  restore: STORE,
  restored: STORE,
  "token create": "no route makes a token, so that a stolen one makes no other",
  "token list": "no route lists tokens, so that a stolen one shows no other",
  "token revoke": "no route revokes a token: an operator does that",
};

const shownAsJson = (document: unknown): Answer => ({ document, text: JSON.stringify(document, null, 2) });

/** What the operation table says of an outcome. */
function told(name: OperationName, outcome: { readonly kind: string }): Answer {
  const says = (OPERATIONS[name].outcomes as Readonly<Record<string, { readonly says: string }>>)[outcome.kind]?.says;
  return { document: outcome, text: says ?? outcome.kind };
}

async function start({ client, shell, flags, words: [agent = ""], command }: Remote): Promise<Answer> {
  const [input, key] = [textIn(flags, "input"), textIn(flags, "key")];
  const files = readFiles(shell, flags["file"] as readonly string[] | undefined).map(({ base64, ...file }) => ({
    ...file,
    bytes: Buffer.from(base64, "base64"),
  }));
  const task = input === undefined ? {} : await readJson(shell, { option: "--input", text: input });
  const started = await client.start(agent, task, { ...(key !== undefined && { key }), files });
  const { run } = started;
  const next = command("watch", run);
  if (flags["wait"] !== true) {
    return {
      document: started,
      text: `${run} is ${started.started ? "started" : "there already"}; follow it: ${next}`,
    };
  }
  const document = await client.wait(run);
  return { document, text: `${run} ${document.status}`, exit: exitOf(document) };
}

/** As `cairn start --wait`: whether the run did what it should, or needs a person. */
const exitOf = ({ status, inProgress }: { readonly status: Status; readonly inProgress: boolean }): ExitCode =>
  status === "completed" ? EXIT.done : inProgress ? EXIT.refused : EXIT.failed;

type RunsPage = Awaited<ReturnType<Remote["client"]["list"]>>;

/** The most runs of one response. */
const PAGE_RUNS_MAX = 500;

async function list({ client, shell, flags, style }: Remote): Promise<Answer> {
  const limit = flags["limit"] as number;
  const query = listQuery(flags, sinceOf(shell, textIn(flags, "since"), style.now));
  const [runs, damaged]: [RunsPage["runs"][number][], RunsPage["damaged"][number][]] = [[], []];
  let after: string | null = null;
  do {
    const left = Math.min(limit - runs.length, PAGE_RUNS_MAX);
    const page: RunsPage = await client.list({ ...query, limit: left, ...(after !== null && { after }) });
    runs.push(...page.runs);
    damaged.push(...page.damaged);
    after = page.next;
  } while (after !== null && runs.length < limit);
  const lines = [...runs, ...damaged.map(({ run, why }) => ({ run, damaged: why }))];
  const rows = runs.map(({ run, agent: name, status: is }) => `${run}  ${is.padEnd(9)}  ${name}`);
  return { lines, text: rows.length === 0 ? "no run matches" : rows.join("\n") };
}

/** The filters that were typed. */
function listQuery(flags: Remote["flags"], since: number | null): InputTo<"list"> {
  const { status, agent, agentVersion, phase, schedule, crack, above } = flags as Partial<ListFlags>;
  return {
    ...(status !== undefined && { status }),
    ...(agent !== undefined && { agent }),
    ...(agentVersion !== undefined && { agentVersion }),
    ...(phase !== undefined && { phase }),
    ...(schedule !== undefined && { schedule }),
    ...(crack !== undefined && { crack }),
    ...(since !== null && { since }),
    ...(above !== undefined && { usdAbove: above }),
  };
}

/** What has happened until now. The client's own method would wait for what happens next. */
async function timeline({ perform, words: [run = ""], style }: Remote): Promise<Answer> {
  const entries: TimelineEntry[] = [];
  for (let [after, isMore] = [0, true]; isMore;) {
    const page = (await perform("timeline", { run, after })) as SuccessOf<typeof OPERATIONS.timeline>;
    entries.push(...page.entries);
    [after, isMore] = [page.next, page.more];
  }
  return { lines: entries, text: tell(UNTOLD, entries, style).lines.join("\n") };
}

async function watch({ client, shell, words: [run = ""], style }: Remote): Promise<Answer> {
  let story = UNTOLD;
  const signal = shell.stopSignal();
  for await (const { cursor: _, ...entry } of client.events(run, { signal })) {
    const next = tell(story, [entry], style);
    story = next.story;
    const lines = shell.json ? [JSON.stringify(entry)] : next.lines;
    for (const line of lines) shell.terminal.out(line);
  }
  const document = await client.get(run);
  return { lines: [], text: `${run} ${document.status}`, exit: exitOf(document) };
}

async function send({ client, shell, words: [run = "", text = ""], flags }: Remote): Promise<Answer> {
  const id = textIn(flags, "key");
  const files = readFiles(shell, flags["file"] as readonly string[] | undefined).map(({ base64, ...file }) => ({
    ...file,
    bytes: Buffer.from(base64, "base64"),
  }));
  const document = await client.send(run, text, { ...(id !== undefined && { id }), files });
  return { document, text: document.delivered ? "It is delivered." : "It was delivered before." };
}

async function fork({ client, shell, words: [run = ""], flags }: Remote): Promise<Answer> {
  const [input, key] = [textIn(flags, "input"), textIn(flags, "key")];
  const outcome = await client.fork(run, {
    at: flags["at"] as number,
    confirmed: flags["yes"] === true,
    ...(input !== undefined && { input: await readJson(shell, { option: "--input", text: input }) }),
    ...(key !== undefined && { key }),
  });
  return told("fork", outcome);
}

async function schedules({ client, words: [action, agent = ""], flags }: Remote): Promise<Answer> {
  const key = textIn(flags, "key");
  if (action === undefined) return shownAsJson(await client.schedules());
  if (action === "pause") return told("pauseSchedule", await client.pauseSchedule(agent));
  if (action === "resume") return told("resumeSchedule", await client.resumeSchedule(agent));
  return told("runSchedule", await client.runSchedule(agent, { ...(key !== undefined && { key }) }));
}

/** Nothing is replaced. */
function writeNew(shell: Shell, out: string, bytes: Uint8Array): void {
  const file = resolve(shell.cwd, out);
  if (existsSync(file)) throw alreadyThere(shell, file, "ANOTHER");
  try {
    writeFileSync(file, bytes, { flag: "wx" });
  } catch (cause) {
    throw unwritable(shell, { file, cause });
  }
}

const notConfirmed = (run: string, next: string): CliError =>
  new CliError({
    ...{ code: "NotConfirmed", exit: EXIT.usage, what: `${run} is not removed`, next },
    why: "a purge cannot be taken back, so it needs --yes",
  });
