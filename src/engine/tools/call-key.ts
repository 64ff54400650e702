/**
 * The idempotency key of a call: the agent's own business key, or a key that derives from the intent. A business key
 * names one action. For a second action under it, the external service would return the result of the first, and the
 * model would believe it. So every use of a key is looked up: open calls in the state, settled calls in the transcript
 * (ADR 0022).
 */
import type { CallContext, Tool } from "../../ports/agent.ts";
import { canonical } from "../../codec/canonical.ts";
import { bounded, sentenceOf } from "../../codec/value.ts";
import { intentKey } from "../../protocol/ids.ts";
import { EFFECTS } from "../../core/calls/effects.ts";
import { repeatsOf } from "../../core/calls/repeats.ts";
import type { Json } from "../../core/json.ts";
import { SIZES } from "../../codec/limits.ts";
import type { CallOutcome } from "../../core/message.ts";
import type { OpenCall, State } from "../../core/state.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { redactionIn } from "../../history/secrets.ts";
import { callContextOf } from "./tools.ts";

type CallKey =
  | { readonly kind: "key"; readonly key: string; readonly isBusiness: boolean }
  /** Nothing may be started, and the model is told why. */
  | { readonly kind: "refused"; readonly why: string };

interface Asked {
  readonly open: OpenCall;
  readonly tool: Tool;
  readonly args: Json;
  /** Makes the parsed arguments. */
  readonly input: () => unknown;
  readonly argsDigest: string;
  /** The call did not begin, and its arguments were parsed to another value than that of its intent. */
  readonly isChanged: boolean;
}

/**
 * Returns the key of the call, or why the call is refused. A key that was committed with the intent stays, even if the
 * agent's code has changed.
 */
export async function keyOf(run: ActiveRun, asked: Asked): Promise<CallKey> {
  const { open, tool, args, input, argsDigest } = asked;
  const { call, intent } = open;
  if (intent?.argsDigest === argsDigest && !asked.isChanged)
    return { kind: "key", key: intent.key, isBusiness: intent.business === true };
  const { restart, run: id, born } = run.state;
  const made = tool.key === null ? null : ownKey(tool.key, input, await callContextOf(run));
  if (made === null) {
    const of = { run: id, born, attempt: restart, call, tool: open.tool, args: canonical(args) };
    return { kind: "key", key: intentKey(run.world.hash, of), isBusiness: false };
  }
  const key = made.wrong === null ? keyAfterUndo(run.state, made.key) : made.key;
  const why =
    made.wrong ?? wrongWithLength(key) ?? wrongWithSecret(run, key) ?? wrongWithUse(run.state, { ...asked, key });
  return why === null ? { kind: "key", key, isBusiness: true } : { kind: "refused", why: bounded(why) };
}

/**
 * Schedule 259: a stage books under `trip-7`, its booking is cancelled, and the stage books again. Under the same key the
 * service would answer with the booking that was cancelled. So a repeat after an undo gets the next key, `trip-7~2`.
 */
function keyAfterUndo(state: State, key: string): string {
  const { undone } = repeatsOf(state);
  for (let number = 1; ; number += 1) {
    const next = number === 1 ? key : `${key}~${number}`;
    if (!usesOf(state, next).some(({ call }) => undone.includes(call))) return next;
  }
}

/**
 * Why a business key that holds a secret is refused, or null. The key that is sent must equal the key that is recorded.
 * A redacted key would be the same for different actions.
 */
const wrongWithSecret = ({ world }: ActiveRun, key: string): string | null =>
  redactionIn(world).text(key) === key
    ? null
    : "KeyRefused: the key of this tool holds a secret or a credential, and keys are recorded; nothing was started";

const wrongWithLength = ({ length }: string): string | null =>
  length <= SIZES.businessKeyCharactersMax
    ? null
    : `KeyRefused: the key of this tool has ${length} characters, ${SIZES.businessKeyCharactersMax} are allowed; nothing was started`;

const PRINTABLE = /^[!-~]+$/;

/** Asks the tool for its business key; null: it has none for these arguments. `wrong` says why it is not usable. */
function ownKey(
  key: NonNullable<Tool["key"]>,
  input: () => unknown,
  context: CallContext,
): { readonly key: string; readonly wrong: string | null } | null {
  const refused = (why: string) => ({ key: "", wrong: `KeyRefused: the key of this tool ${why}; nothing was started` });
  try {
    // The function gets a copy, so it cannot change the arguments that run.
    const made: unknown = key(input(), { ...context, attempt: context.restart });
    if (made === null) return null;
    if (made instanceof Promise) made.catch(() => undefined);
    if (typeof made !== "string") return refused(`is not a text but ${typeof made}`);
    const tooLong = wrongWithLength(made);
    if (tooLong !== null) return { key: "", wrong: tooLong };
    return PRINTABLE.test(made) ? { key: made, wrong: null } : refused("must be printable ASCII without spaces");
  } catch (error) {
    return refused(`could not be made: ${sentenceOf(error)}`);
  }
}

/** One earlier use of a business key. */
interface Use {
  readonly call: string;
  readonly tool: string;
  readonly argsDigest: string;
  readonly outcome: CallOutcome | "open";
}

/**
 * Why an earlier use of the key forbids this call, or null. The same action again is one effect only if the external
 * service deduplicates by the key; otherwise it would be a second effect. A failed call had no effect.
 */
function wrongWithUse(state: State, { open, tool, argsDigest, key }: Asked & { readonly key: string }): string | null {
  const uses = usesOf(state, key).filter(({ call }) => call !== open.call);
  const other = uses.find((use) => use.tool !== open.tool || use.argsDigest !== argsDigest);
  if (other !== undefined) {
    const whose = other.tool === open.tool ? "the same tool with other arguments" : other.tool;
    return `KeyTaken: the key ${key} of this call is that of call ${other.call} (${whose}), and one key names one effect; nothing was started`;
  }
  const undone =
    tool.undo === null ? undefined : uses.find(({ call, outcome }) => outcome !== "failed" && isEarlier(state, call));
  if (undone !== undefined)
    return `KeyUsed: call ${undone.call} of an earlier attempt used the key ${key} and was undone; the external service would answer for that call, so the key of this tool must contain the restart number; nothing was started`;
  const done = EFFECTS[tool.effect].isDeduplicated ? undefined : uses.find(({ outcome }) => outcome !== "failed");
  if (done === undefined) return null;
  const came = {
    succeeded: "has succeeded, and its result is above",
    unknown: "has an unknown outcome",
    open: "is under way",
    failed: "",
  }[done.outcome];
  return `KeyUsed: call ${done.call} is the same call under key ${key}; it ${came}; nothing was started`;
}

/** Whether the call was made before the last restart. Everything that can be undone was undone before that restart. */
const isEarlier = ({ messages, restartedFrom = 0 }: State, call: string): boolean =>
  messages
    .slice(0, restartedFrom)
    .some(({ parts }) => parts.some((part) => part.kind === "call" && part.call === call));

/** All calls that were released under this business key, open and settled. */
function usesOf({ open, messages }: State, key: string): readonly Use[] {
  const isUnder = ({ intent }: OpenCall): boolean => intent?.business === true && intent.key === key;
  const under = open.filter(isUnder).map(({ call, tool, intent }): Use => {
    return { call, tool, argsDigest: intent?.argsDigest ?? "", outcome: "open" };
  });
  const settled = messages.flatMap(({ parts }) =>
    parts.flatMap((part): Use[] => {
      if (part.kind !== "result" || part.under?.key !== key) return [];
      return [{ call: part.call, tool: part.tool, argsDigest: part.under.argsDigest, outcome: part.outcome }];
    }),
  );
  return [...settled, ...under];
}
