/** A run whose model streams, and a reader who joins what it says to a text. */
import type { Agent } from "../../../src/ports/agent.ts";
import { attachReader } from "../../../src/operations/attach.ts";
import { type EventPage, pollLive } from "../../../src/operations/event-page.ts";
import { parseCursor } from "../../../src/operations/live-cursor.ts";
import type { World } from "../../../src/ports/world.ts";
import { beginRun, killableWorld } from "../harness/drive.ts";
import {
  type Harness,
  createChainHarness,
  scriptedAgent,
  type StartedAttempt,
  flushPromises,
} from "../harness/harness.ts";
import { type SpokenCall, type StreamingModel, streamingModel } from "../agents/streaming-model.ts";

/** What a person sees: the replies, and the open text. It applies pages as `Live` says. */
export class ShownText {
  readonly replies: string[] = [];
  readonly resets: string[] = [];
  open = "";
  cursor = "0";
  deltas = 0;

  apply({ live, entries }: EventPage): void {
    if (live === undefined) throw new Error("a page without deltas");
    if (live.reset !== null) {
      this.open = "";
      this.resets.push(live.reset.why);
    }
    for (const entry of entries) {
      if (entry.kind !== "ModelCallCompleted") continue;
      this.open = "";
      this.replies.push(entry.parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join(""));
    }
    for (const { parts } of live.deltas) {
      this.deltas += 1;
      this.open += parts.map(({ text }) => text).join("");
    }
    this.cursor = live.cursor;
  }
}

export interface StreamedRun extends StreamingModel {
  readonly harness: Harness;
  readonly agent: Agent;
  readonly run: string;
  /** Starts the next attempt, in this world, and waits until its model call has left. */
  readonly begin: (world?: World) => Promise<{ readonly call: SpokenCall; readonly end: () => Promise<void> }>;
  /** The same in a process that is killed by `kill`. The chain learns of it. */
  readonly beginToDie: () => Promise<{ readonly call: SpokenCall; readonly kill: () => void }>;
  /** Lets a second pass, and what is due then. */
  readonly second: (count?: number) => Promise<void>;
  readonly read: (shown: ShownText, wait?: number) => Promise<EventPage>;
}

export async function createStreamedRun(change: { readonly isRead?: boolean } = {}): Promise<StreamedRun> {
  const harness = createChainHarness({ beatMs: 300_000, modelMs: 200_000 });
  const { world, clock } = harness;
  const streaming = streamingModel();
  const agent = { ...scriptedAgent({}), model: streaming.model };
  const { run } = await beginRun(world, agent, {});
  if (change.isRead !== false) await attachReader(world, run);
  const started = (of: World): { readonly out: StartedAttempt; readonly done: Promise<unknown> } => {
    const out = harness.startAttempt();
    const done = out.perform({ world: of, agent }).then((result) => out.end(result));
    done.catch(() => undefined);
    return { out, done };
  };
  return {
    ...{ harness, agent, run, ...streaming },
    begin: async (of = world) => {
      const { done } = started(of);
      const call = await streaming.nextCall();
      return { call, end: async () => void (await harness.advanceUntilSettled(done)) };
    },
    beginToDie: async () => {
      const dying = killableWorld(world);
      const { out } = started(dying.world);
      const call = await streaming.nextCall();
      const kill = (): void => {
        dying.kill();
        out.end(null);
      };
      return { call, kill };
    },
    second: async (count = 1) => {
      for (let passed = 0; passed < count; passed += 1) {
        await flushPromises();
        clock.moveTo(clock.now() + 1_000);
        await flushPromises();
      }
    },
    read: async (shown, wait = 0) => {
      const page = await pollLive(world, { run, cursor: parseCursor(shown.cursor), wait, bytesMax: null });
      if (page === null) throw new Error("the run is gone");
      shown.apply(page);
      return page;
    },
  };
}
