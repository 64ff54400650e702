/** The endpoint of a history that hears of its run. As long as the history is not calm, it may be away or lose answers. */
import { memorySecrets } from "../../../src/adapters/memory/secrets.ts";
import { NOTIFICATION_KINDS } from "../../../src/core/notifications.ts";
import type { Posted, WebhookPost, Webhooks } from "../../../src/ports/webhooks.ts";
import type { Actor } from "../actor.ts";
import { type Sim, isCalm } from "../sim.ts";

/** A request that arrived at the endpoint. */
export interface Post {
  readonly order: number;
  readonly id: string;
  /** Which notification of which version of the run it is. */
  readonly about: string;
  /** The status that its sender was to hear. */
  readonly status: number;
}

const URL = "https://hooks.example/cairn";
/** An endpoint fails for one notification so often at most, so that its last attempt is not far away. */
const FAILURES_MAX = 2;
const TROUBLES = ["unreachable", "away", "answer lost"] as const;

export const endpointSecrets = () => memorySecrets({ HOOK_KEY: `whsec_${Buffer.alloc(32, 7).toString("base64")}` });

/** The endpoints as one process reaches them. */
export const webhooksIn = (sim: Sim, actor: Actor): Webhooks => ({
  endpoints: [{ url: URL, events: NOTIFICATION_KINDS, secret: "HOOK_KEY" }],
  noted: () => undefined,
  post: (post) => received(sim, actor, post),
});

async function received(sim: Sim, actor: Actor, { headers, body }: WebhookPost): Promise<Posted> {
  await actor.pause();
  const { features: log, chances, plan, record } = sim;
  const id = headers["webhook-id"] ?? "";
  const failures = log.failedPosts.get(id) ?? 0;
  const mayFail = !isCalm(sim) && failures < FAILURES_MAX;
  const isTrouble = mayFail && chances.features.oneIn(plan.features.webhooks?.troubleOneIn ?? 1);
  const trouble = isTrouble ? chances.features.pick(TROUBLES) : null;
  if (trouble !== null) log.failedPosts.set(id, failures + 1);
  actor.note(`posts ${id}${trouble === null ? "" : ` (${trouble})`}`);
  if (trouble === "unreachable") return { kind: "unreachable", why: "connection refused" };
  const status = trouble === "away" ? 503 : 200;
  log.posts.push({ order: record.next(), id, about: aboutOf(body), status });
  await actor.pause();
  if (trouble === "answer lost") return { kind: "unreachable", why: "the answer was lost" };
  return { kind: "answered", status };
}

/** What a notification is about: fields of the body of its request. */
type Facts = Readonly<Record<string, string | number | undefined>>;
type Body = { readonly type: string } & Readonly<Record<"data", Facts>>;

/** One name for a notification, whoever tells it. */
export const notificationName = (type: string, facts: Facts): string =>
  [facts["version"], type, facts["call"], facts["gate"], facts["crack"], facts["code"]]
    .filter((each) => each !== undefined)
    .join(" ");

function aboutOf(body: string): string {
  const parsed = JSON.parse(body) as Body;
  return notificationName(parsed.type, parsed["data"]);
}

/** Nothing is left to be delivered. */
export const isDelivered = ({ world, plan }: Pick<Sim, "world" | "plan">): boolean =>
  plan.features.webhooks === null ||
  ![...world.store.records.values()].some(
    ({ kind, expiresAtSec }) => kind === "webhook" && (expiresAtSec ?? Infinity) * 1_000 > world.clock.now(),
  );
