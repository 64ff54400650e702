/**
 * Delivers the notifications of the outbox: first each goes into the queues of its endpoints, then each endpoint gets
 * its own, beside the others. So an endpoint that does not answer holds up neither another one nor the routing.
 */
import type { Invocation } from "../../ports/tasks.ts";
import type { World } from "../../ports/world.ts";
import { deliverQueue } from "./endpoint.ts";
import { routeNoted } from "./route.ts";
import { alarm } from "../../history/alarm.ts";
import { isWaitingFor } from "./queues.ts";
import { endpointId, keepEndpoints } from "./endpoints.ts";
import type { Webhooks } from "../../ports/webhooks.ts";
import { sentenceOf } from "../../codec/value.ts";

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

/** Keeps which endpoints the config names, and says once what happens to the queue of one that it names no longer. */
async function rememberEndpoints(world: World, { endpoints }: Webhooks): Promise<void> {
  const removed = await keepEndpoints(
    world,
    endpoints.map(({ url }) => url),
  );
  for (const { url } of removed) {
    if (!(await isWaitingFor(world, url))) continue;
    const what = `notifications to ${new URL(url).origin} are not sent: the config names it no longer`;
    const id = endpointId(world, url);
    const mend = `cairn webhooks redeliver ${id} --to ENDPOINT moves them to another one; else they expire after 30 days`;
    alarm(world, "", { what: "WebhookFailed", why: `${what}; ${mend}` });
  }
}

/**
 * Delivers notifications while a sweep runs, so that a slow endpoint holds back no run, and returns the result of the
 * sweep. A delivery that fails is an alarm, and the next sweep repeats it.
 */
export async function withDeliveries<T>(world: World, invocation: Invocation, sweep: Promise<T>): Promise<T> {
  const delivered = deliverNotifications(world, invocation).catch((error: unknown) =>
    alarm(world, "", { what: "WebhookFailed", why: sentenceOf(error) }),
  );
  const [swept] = await Promise.all([sweep, delivered]);
  return swept;
}
