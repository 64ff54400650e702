/**
 * Before-images: what a probed tool reads outside right before its call is released. The commit of the release records
 * them, and the probe gets them.
 *
 * Schedule 146: the process dies in a call that sets an address, and the address was right before. A probe that sees
 * only the present takes the call for done. With the image it sees that nothing has changed.
 *
 * Schedule 147: a call waits for approval for a day, and the address changes meanwhile. With an image from before that
 * day the probe would take the change for its own. So the image is taken at the release, and not with the intent.
 */
import type { Agent, Tool } from "../../ports/agent.ts";
import { asJson } from "../../codec/value.ts";
import { SIZES } from "../../codec/limits.ts";
import type { Json } from "../../core/json.ts";
import type { OpenCall } from "../../core/state.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { traceOfCall } from "../context/trace.ts";
import { secretsFor } from "../../history/secrets.ts";
import { recordable } from "./recordable.ts";
import { askInTime } from "./ask-in-time.ts";
import { callContextOf, timeoutOf } from "./tools.ts";

/** What came of reading a before-image. */
export type BeforeImage =
  | { readonly kind: "taken"; readonly json: Json }
  /** The call must not start: its probe could not tell later whether it happened. */
  | { readonly kind: "failed"; readonly why: string };

interface Released {
  readonly open: OpenCall;
  readonly tool: Tool;
  /** Makes the parsed arguments. */
  readonly input: () => unknown;
}

/** How long reading an image may take, in milliseconds. */
const BEFORE_IMAGE_MS_MAX = 10_000;

/** How long the image and one attempt of the tool may take, in milliseconds. */
export const timeWithImage = (run: ActiveRun, tool: Tool): number => timeoutOf(run, tool) + imageMs(run, tool);

const imageMs = (run: ActiveRun, tool: Tool): number =>
  tool.before === undefined ? 0 : Math.min(BEFORE_IMAGE_MS_MAX, timeoutOf(run, tool));

/** Reads the images of these calls in parallel, by call. A tool without `before` has none. Never rejects for a tool. */
export async function takeImages(
  run: ActiveRun,
  agent: Agent,
  calls: readonly Released[],
): Promise<ReadonlyMap<string, BeforeImage>> {
  const taken = calls.flatMap((each) => {
    const { before } = each.tool;
    return before === undefined ? [] : [takeImage(run, agent, { ...each, before })];
  });
  return new Map(await Promise.all(taken));
}

async function takeImage(
  run: ActiveRun,
  agent: Agent,
  { open, tool, input, before }: Released & { readonly before: NonNullable<Tool["before"]> },
): Promise<readonly [call: string, BeforeImage]> {
  const context = await callContextOf(run);
  const stop = new AbortController();
  const secrets = secretsFor(run.world, agent);
  const traced = traceOfCall(run.world, run.row, open);
  const asked = { what: `before of tool ${open.tool}`, most: imageMs(run, tool) };
  const said = await askInTime(run, asked, async () =>
    imageOf(tool, await before(input(), { ...context, ...traced, signal: stop.signal, secrets })),
  );
  // Reading has no outside effect. So a read that continues is aborted, and its process need not end.
  if (said.kind === "late") stop.abort();
  return [open.call, said.kind === "said" ? said.value : failed(said.why)];
}

/** The image stands in the state while the call is open, so it is small. */
function imageOf(tool: Tool, given: unknown): BeforeImage {
  const parsed = asJson(given ?? null);
  if (!parsed.ok) return failed(parsed.why);
  const json = recordable(tool, parsed.json, "before");
  const bytes = Buffer.byteLength(JSON.stringify(json));
  if (bytes <= SIZES.stateValueBytesMax) return { kind: "taken", json };
  return failed(`it has ${bytes} bytes, ${SIZES.stateValueBytesMax} are allowed`);
}

const failed = (why: string): BeforeImage => ({
  kind: "failed",
  why: `NotStarted: its before-image could not be recorded: ${why}; nothing was started`,
});
