/**
 * The definition of done. When the model says that it is done, the run completes only if all checks of its agent hold.
 * Otherwise the model is told what is missing.
 */
import { waitsForChildren } from "../../core/policy/ending.ts";
import type { Agent, Check, RunView } from "../../ports/agent.ts";
import { asJson, bounded, sentenceOf } from "../../codec/value.ts";
import type { Failure } from "../../core/event.ts";
import type { Json } from "../../core/json.ts";
import { ensure } from "../../core/ensure.ts";
import { withFiles } from "../../core/file.ts";
import { filesOfResult } from "../../core/files-in.ts";
import { textOf } from "../../core/message.ts";
import { decideRecovery } from "../../core/policy/recovery.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { signalCrack } from "../context/signal-crack.ts";
import { viewOf } from "../model/run-view.ts";
import { observe } from "../model/topology.ts";
import { askUserCode } from "../model/verdicts.ts";
import { whyReturned } from "../../features/children/expected-answer.ts";
import { learn } from "../../features/memory/engine.ts";
import { commitEnd } from "./terminal-commit.ts";
import { type Next, goesOn } from "../context/next.ts";
import { releasesAtUnit } from "../context/run-parts.ts";

/**
 * Lets the topology judge the last reply. If the run is done then, runs the checks of the agent, and commits the end of
 * the run if all of them hold.
 */
export async function checkCompletion(run: ActiveRun, agent: Agent): Promise<Next> {
  const done = await answerOf(run, agent);
  if (done.kind === "not") return done.next;
  const { message } = done;
  const view = await viewOf(run, message === null ? null : textOf(run.state.messages, message));
  const verdicts = await Promise.all(agent.done.map((check) => verdictOf(run, check, view)));
  const missing = verdicts.filter((verdict) => verdict !== null);
  for (const { check, why } of missing) run.record({ kind: "CheckFailed", at: run.now, check, why });
  if (missing.length > 0) return notDone(run, agent, { missing, isFinal: message !== null });
  // C5: the end waits. It is judged again when the last child has reported.
  if (waitsForChildren(run.state)) {
    return goesOn("judged");
  }
  const made = resultOf(agent, view);
  if (made.failure !== null) {
    const say = `Your answer cannot be used: ${made.failure.message}. Give your whole answer anew.`;
    run.record(decideRecovery(run.state, { kind: "result", failure: made.failure, say }, run.now));
    return "continue";
  }
  // A topology that has finished would go back for another answer, and undo or repeat what was done.
  const returned = message === null ? await whyReturned(run, made.json) : null;
  if (returned !== null) return giveBack(run, agent, { why: returned, isFinal: false });
  await learn(run, agent, view);
  const result = await run.keepSmall(made.json);
  return commitEnd(run, { status: "completed", result, ...withFiles(filesOfResult(run.state.messages, made.json)) });
}

type Done =
  /** The run is done. `message` has its answer; null: the last reply. */
  { readonly kind: "done"; readonly message: string | null } | { readonly kind: "not"; readonly next: Next };

/** Whether the topology is done, and with which message. An earlier invocation may have finished it. */
async function answerOf(run: ActiveRun, agent: Agent): Promise<Done> {
  const { topology, messages } = run.state;
  if (topology?.final !== undefined) return { kind: "done", message: topology.final };
  const last = messages.findLast(({ role }) => role === "assistant");
  ensure(last !== undefined, "a reply is judged");
  const seen = { kind: "reply", message: last.id, text: textOf(messages, last.id) } as const;
  const followed = await observe(run, agent, seen);
  if (followed.kind === "finished") return { kind: "done", message: followed.message };
  if (followed.kind === "late") return { kind: "not", next: "release" };
  ensure(followed.kind !== "none", "a topology decides about each reply");
  return { kind: "not", next: followed.kind === "section" && releasesAtUnit(run) ? "release" : "continue" };
}

/** The model is told what is missing, or the topology goes back for it. */
async function notDone(
  run: ActiveRun,
  agent: Agent,
  {
    missing,
    isFinal,
  }: { readonly missing: readonly { readonly check: string; readonly why: string }[]; readonly isFinal: boolean },
): Promise<Next> {
  const names = missing.map(({ check }) => check).join(", ");
  signalCrack(run, "prematureStop", `the model says that it is done, and ${names} does not hold`);
  const list = missing.map(({ check, why }) => `- ${check}: ${why}`).join("\n");
  if (isFinal && (await observe(run, agent, { kind: "reopened", by: "checks", why: list })).kind !== "none") {
    return "continue";
  }
  const failure = { code: "NotDone", message: `the definition of done does not hold:\n${list}` };
  const say = `You are not done yet. What is missing:\n${list}`;
  run.record(decideRecovery(run.state, { kind: "reply", failure, say }, run.now));
  return "continue";
}

/** The parent of the run would not take the answer. What the run did stands, and it goes on. */
async function giveBack(
  run: ActiveRun,
  agent: Agent,
  { why, isFinal }: { readonly why: string; readonly isFinal: boolean },
): Promise<Next> {
  run.record({ kind: "CheckFailed", at: run.now, check: "answer", why, isAnswer: true });
  signalCrack(run, "lostHandoff", `the run that waits for this answer cannot take it: ${why}`);
  if (
    isFinal &&
    (await observe(run, agent, { kind: "reopened", by: "checks", why: `- answer: ${why}` })).kind !== "none"
  ) {
    return "continue";
  }
  const failure = { code: "AnswerLost", message: why };
  const say = `Your answer cannot be taken: ${why}\nWhat you did stands: do not do it again. Give your whole answer anew.`;
  run.record(decideRecovery(run.state, { kind: "reply", failure, say }, run.now));
  return "continue";
}

/**
 * Runs one check. Returns null if it holds, else what is missing. A check that throws or gives no verdict does not
 * hold.
 */
async function verdictOf(
  run: ActiveRun,
  check: Check,
  view: RunView,
): Promise<{ readonly check: string; readonly why: string } | null> {
  const verdict = await askUserCode(run, `the check ${check.name}`, () => check.holds(view as RunView<never>));
  if (verdict === true) return null;
  if (typeof verdict === "string") return { check: check.name, why: bounded(verdict) };
  return { check: check.name, why: verdict === false ? "it does not hold" : "it said neither true nor false nor why" };
}

/** The result of the agent, or why it is refused. */
type Made = { readonly json: Json; readonly failure: null } | { readonly json: null; readonly failure: Failure };

function resultOf(agent: Agent, view: RunView): Made {
  const refused = (why: string): Made => ({ json: null, failure: { code: "ResultInvalid", message: bounded(why) } });
  try {
    const made: unknown = agent.result(view);
    // A promise is refused below. Its rejection must not end the process.
    if (made instanceof Promise) made.catch(() => undefined);
    const parsed = asJson(made);
    return parsed.ok ? { json: parsed.json, failure: null } : refused(`the result of the agent: ${parsed.why}`);
  } catch (error) {
    return refused(`the result of the agent threw: ${sentenceOf(error)}`);
  }
}
