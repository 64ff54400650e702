/**
 * Delivers the notifications of the outbox: first each goes into the queues of its endpoints, then each endpoint gets its
 * own, beside the others. So an endpoint that does not answer holds up neither another one nor the routing.
 */
import type { Invocation } from "../../ports/tasks.ts";
import type { World } from "../../ports/world.ts";
import { deliverQueue } from "./endpoint.ts";
import { rememberEndpoints } from "./remember-endpoints.ts";
import { routeNoted } from "./route.ts";

/** Delivers what is due. Does nothing where no webhook is configured. */
export const deliverNotifications = (world: World, invocation: Invocation): Promise<void> =>
  deliveriesOf(world, () => invocation)();

/**
 * The deliveries of one process: each call is a round, and rounds may overlap. A round ends when nothing is under way any
 * more. `invocationNow`: the time that each part of a round has.
 */
export function deliveriesOf(world: World, invocationNow: () => Invocation): () => Promise<void> {
  const { webhooks } = world;
  if (webhooks === undefined) return async () => undefined;
  const queues = new Map(
    webhooks.endpoints.map((webhook) => [
      webhook.url,
      new Rerun(() => deliverQueue(world, { webhooks, webhook, invocation: invocationNow() })),
    ]),
  );
  // While the routing goes on: it begins with what is urgent.
  const onQueued = (url: string): void => queues.get(url)?.start();
  const routing = new Rerun(async () => {
    await routeNoted(world, { webhooks, invocation: invocationNow(), onQueued });
    return false;
  });
  let remembered: Promise<void> | null = null;
  return async () => {
    routing.start();
    remembered ??= rememberEndpoints(world, webhooks);
    const routed = await Promise.allSettled([routing.end, remembered]);
    // Also those that got nothing now: what failed before may be due.
    for (const queue of queues.values()) queue.start();
    const sent = await Promise.allSettled([...queues.values()].map(({ end }) => end));
    for (const each of [...routed, ...sent]) if (each.status === "rejected") throw each.reason;
  };
}

/** Work that runs once at a time. A start while it is under way makes it run once more. */
class Rerun {
  /** Resolves when the work is under way no more. */
  end: Promise<void> = Promise.resolve();
  readonly #work: () => Promise<boolean>;
  #isDue = false;
  #isUnderWay = false;

  /** `work` returns whether it has to run again. */
  constructor(work: () => Promise<boolean>) {
    this.#work = work;
  }

  start(): void {
    this.#isDue = true;
    if (this.#isUnderWay) return;
    this.#isUnderWay = true;
    this.end = this.#run();
    // Who waits for the round hears of it.
    this.end.catch(() => undefined);
  }

  async #run(): Promise<void> {
    try {
      while (this.#isDue) {
        this.#isDue = false;
        const isMore = await this.#work();
        this.#isDue ||= isMore;
      }
    } finally {
      this.#isUnderWay = false;
    }
  }
}
