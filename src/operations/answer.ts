/**
 * Sends a human's answer to a call that waits for one (`askHuman`). The first answer to a question counts. It is checked
 * against the schema of the call's tool before it is sent, where the agent's code is available, and again by the beat
 * that takes it.
 */
import { heldWait } from "../core/calls/held-calls.ts";
import { TOO_DEEP, isTooDeep } from "../codec/to-json.ts";
import { SIZES } from "../codec/limits.ts";
import { bounded } from "../codec/value.ts";
import { endBeforeDecision } from "../features/approvals/core-ignored-decisions.ts";
import type { Event } from "../core/event.ts";
import type { Json } from "../core/json.ts";
import type { OpenCall, State } from "../core/state.ts";
import type { AnswerGiven, Wait } from "../core/wait.ts";
import { answerId } from "../protocol/ids.ts";
import { type Row, hasEnded } from "../protocol/row.ts";
import type { Agent } from "../ports/agent.ts";
import type { World } from "../ports/world.ts";
import { senderOf } from "../engine/context/inbox.ts";
import { toolFor } from "../engine/tools/tools.ts";
import { readInput } from "../features/waits/engine.ts";
import { loadAfterRedrive } from "../features/redrive/after-redrive.ts";
import { jsonOf } from "../history/load.ts";
import { learnSecrets, redactionIn } from "../history/secrets.ts";
import { keepValue } from "../history/write-objects.ts";
import { type Gone, type Sending, checkThenDeliver } from "./look-then-deliver.ts";
import { timeline } from "./views.ts";

/** What the operation can learn about an answer. */
export type AnswerDelivered =
  /** `applied`: it is the result of the call. `waits`: the next beat judges it. */
  | { readonly kind: "accepted"; readonly stage: "applied" | "waits" }
  /** The question was answered before, perhaps by this very sender. Null: that answer is not known yet. */
  | { readonly kind: "duplicate"; readonly answer: { readonly result: Json; readonly by: string } | null }
  /** The call waits for no answer. `calls`: those that do. `why`: set if the run takes no answers any more. */
  | { readonly kind: "stale"; readonly calls: readonly string[]; readonly why: string | null }
  /** It was delivered, and the run ignores it. */
  | { readonly kind: "noEffect"; readonly why: string }
  /** It does not fit what the call asks for. */
  | { readonly kind: "answerInvalid"; readonly why: string }
  /** It cannot be kept. */
  | { readonly kind: "refused"; readonly why: string }
  | Gone;

interface Said {
  readonly run: string;
  readonly call: string;
  readonly result: Json;
  readonly by: string;
  /** The agent's code, if the sender has it. */
  readonly agent: Agent | null;
}

export const answerQuestion = (world: World, said: Said): Promise<AnswerDelivered> =>
  checkThenDeliver<AnswerDelivered>(world, said.run, (row) => answerTo(world, row, said));

async function answerTo(world: World, row: Row, said: Said): Promise<AnswerDelivered | Sending<AnswerDelivered>> {
  const state = await loadAfterRedrive(world, row);
  const open = questionsIn(state).find(({ call }) => call === said.call);
  const about = { row, call: said.call };
  if (open === undefined) {
    const before = await givenTo(world, about);
    if (before !== null) return { kind: "duplicate", answer: await told(world, row, before) };
    if (hasEnded(row)) return { kind: "late" };
    return { kind: "stale", calls: questionsIn(state).map(({ call }) => call), why: endBeforeDecision(state, row) };
  }
  const { given, question } = open.wait;
  if (given !== undefined) return { kind: "duplicate", answer: await told(world, row, given) };
  if (hasEnded(row)) return { kind: "late" };
  const why = endBeforeDecision(state, row);
  if (why !== null) return { kind: "stale", calls: [], why };
  const wrong = await wrongWith(world, { open, said });
  if (wrong !== null) return wrong;
  const value = await keepValue(world, row, { json: said.result, inlineMax: SIZES.inputInlineBytesMax });
  const by = senderOf(said.by);
  return {
    kind: "send",
    id: answerId(said.call, question),
    body: { kind: "answer", call: said.call, question, value, by },
    onDelivered: () => fateOf(world, { ...about, asked: question, by }),
    onDuplicate: async () => {
      const first = (await givenTo(world, about)) ?? (await sentTo(world, { ...about, asked: question }));
      return { kind: "duplicate", answer: first === null ? null : await told(world, row, first) };
    },
  };
}

type Question = OpenCall & { readonly wait: Wait };

const questionsIn = ({ open }: State): readonly Question[] =>
  open.flatMap((each) => {
    const wait = heldWait(each);
    return wait?.for === "answer" ? [{ ...each, wait }] : [];
  });

async function wrongWith(
  world: World,
  { open, said }: { readonly open: OpenCall; readonly said: Said },
): Promise<AnswerDelivered | null> {
  if (isTooDeep(said.result)) return { kind: "refused", why: TOO_DEEP };
  const read = readInput(said.agent === null ? null : toolFor(said.agent, open), said.result);
  if (!read.ok) return { kind: "answerInvalid", why: bounded(read.why) };
  await learnSecrets(world);
  return redactionIn(world).json(said.result) === said.result ? null : { kind: "refused", why: SECRET };
}

export const SECRET = "it holds a secret or a credential, which would be kept with the run";

const told = async (world: World, row: Row, { value, by }: Pick<AnswerGiven, "value" | "by">) => ({
  result: await jsonOf(world.objects, row, value),
  by,
});

/** The answer that the run has taken for the call, by its events; null if there is none. */
async function givenTo(world: World, about: { readonly row: Row; readonly call: string }): Promise<AnswerGiven | null> {
  const events = (await timeline(world, { run: about.row.run, after: 0 })) ?? [];
  return events.map(answerIn).findLast((taken) => taken?.call === about.call) ?? null;
}

const answerIn = (event: Event): AnswerGiven | null =>
  event.kind === "MessageAbsorbed" && event.stage === "taken" && event.body.kind === "answer" ? event.body : null;

/** How many inbox messages are searched. An answer behind more messages than that is not found. */
const SENT_MAX = 100;

async function sentTo(
  world: World,
  { row, call, asked }: { readonly row: Row; readonly call: string; readonly asked: number },
): Promise<AnswerGiven | null> {
  const { run, born } = row;
  const sent = await world.inbox.unread({ run, born, now: world.clock.now(), limit: SENT_MAX });
  for (const { body } of sent) if (body.kind === "answer" && body.call === call && body.question === asked) return body;
  return null;
}

/**
 * What became of a delivered answer. Schedule 158: a human sees the question, its limit ends the wait, and then the
 * answer is delivered. The commit that ended the wait came first, so the answer has no effect, and its author learns it.
 */
async function fateOf(
  world: World,
  { row, call, asked, by }: { readonly row: Row; readonly call: string; readonly asked: number; readonly by: string },
): Promise<AnswerDelivered> {
  const after = await world.table.read(row.run, world.clock.now());
  if (after === null) return { kind: "late" };
  // If the run did not move, the question is open. A later commit that closes it sees the raised `wakeCount`.
  if (after.version === row.version && !after.cancel) return { kind: "accepted", stage: "waits" };
  const open = questionsIn(await loadAfterRedrive(world, after)).find((each) => each.call === call);
  if (open?.wait.question === asked) return { kind: "accepted", stage: "waits" };
  const events = (await timeline(world, { run: row.run, after: row.version })) ?? [];
  const ignored = events.find((event) => event.kind === "InputIgnored" && event.name === call && event.by === by);
  if (ignored?.kind === "InputIgnored") return { kind: "noEffect", why: ignored.why };
  const refused = events.find(
    (event) => event.kind === "InputRefused" && event.call === call && event.question === asked,
  );
  if (refused?.kind === "InputRefused") return { kind: "answerInvalid", why: refused.why };
  const isTaken = events.map(answerIn).some((taken) => taken?.call === call && taken.question === asked);
  if (isTaken) return { kind: "accepted", stage: "applied" };
  return { kind: "noEffect", why: "its question was closed before the run read the answer" };
}
