/** A shop behind HTTP: orders with idempotency keys, a lookup, a cancellation, and an optional fence by epochs. */
import type { FakeService } from "../../../src/testing/kit/index.ts";
import { type ServedAnswer, json, lost, serve } from "./http-server.ts";
import { type MadeEffect, serviceView } from "./service-view.ts";

/** What becomes of a request: its answer is lost after its effect, or it is refused before it. */
type ShopFault = "none" | "answerLost" | "unavailable" | "busy" | "refused";

export interface Shop {
  readonly url: string;
  readonly service: FakeService<unknown>;
  /** All requests since the last reset, as `METHOD path`. */
  readonly requests: readonly string[];
}

export async function startShop(
  of: {
    readonly honoursKeys?: boolean;
    readonly fault?: (request: { readonly method: string; readonly nth: number }) => ShopFault;
  } = {},
): Promise<Shop> {
  const { honoursKeys = true, fault = () => "none" as const } = of;
  const orders: MadeEffect[] = [];
  const requests: string[] = [];
  let epochMax = 0;
  const order = (key: string, input: unknown): ServedAnswer => {
    const known = honoursKeys ? orders.find((each) => each.key === key) : undefined;
    const result = known?.result ?? { order: orders.length + 1 };
    if (known === undefined) orders.push({ key, input, result, undone: false });
    return json(201, result);
  };
  const cancel = (key: string): ServedAnswer => {
    const index = orders.findIndex((each) => each.key === key);
    const found = orders[index];
    if (found !== undefined) orders[index] = { ...found, undone: true };
    return { status: found === undefined ? 404 : 204 };
  };
  const look = (key: string): ServedAnswer => {
    const found = orders.find((each) => each.key === key && !each.undone);
    return found === undefined ? { status: 404 } : json(200, found.result);
  };
  const url = await serve(({ method, url: { pathname }, headers, body }) => {
    requests.push(`${method} ${pathname}`);
    const befalls = fault({ method, nth: requests.length });
    if (befalls === "unavailable") return { status: 503 };
    if (befalls === "busy") return { status: 409 };
    if (befalls === "refused") return json(422, { error: "no such book" });
    const epoch = Number(headers["fencing-token"] ?? epochMax);
    if (epoch < epochMax) return json(412, { error: "stale epoch" });
    epochMax = epoch;
    const [, , name = ""] = pathname.split("/");
    if (method === "GET") return look(name);
    const answer =
      method === "DELETE" ? cancel(name) : order(String(headers["idempotency-key"]), JSON.parse(String(body)));
    return lost(answer, befalls === "answerLost");
  });
  const reset = (): void => {
    orders.length = 0;
    requests.length = 0;
    epochMax = 0;
  };
  return { url, requests, service: serviceView({ name: "shop", effects: () => orders, reset }) };
}
