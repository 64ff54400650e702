/**
 * A payment service of Stripe's form: idempotency keys that it compares and may forget, a search by metadata that may lag
 * behind, and refunds.
 */
import type { FakeService } from "../../../src/testing/kit/index.ts";
import { type ServedAnswer, type ServedRequest, json, lost, serve } from "./http-server.ts";
import { type MadeEffect, serviceView } from "./service-view.ts";

/** What becomes of a request. A number: it is refused with that status, before its key is looked at. */
type PaymentFault = "none" | "answerLost" | "unavailable" | "keysForgotten" | number;

export interface Payments {
  readonly url: string;
  readonly service: FakeService<unknown>;
  /** All requests since the last reset, as `METHOD path`. */
  readonly requests: readonly string[];
  /** The parameters of each POST since the last reset. */
  readonly forms: readonly Readonly<Record<string, string>>[];
}

const failure = (status: number, code: string): ServedAnswer => json(status, { error: { type: code, code } });

const replayed = (answer: ServedAnswer): ServedAnswer => ({
  ...answer,
  headers: { ...answer.headers, "idempotent-replayed": "true" },
});

export async function startPayments(
  of: {
    readonly fault?: (request: { readonly nth: number }) => PaymentFault;
    readonly isSearchLate?: boolean;
  } = {},
): Promise<Payments> {
  const { fault = () => "none" as const, isSearchLate = false } = of;
  const payments: MadeEffect[] = [];
  const answers = new Map<string, { readonly params: string; readonly answer: ServedAnswer }>();
  const requests: string[] = [];
  const forms: Readonly<Record<string, string>>[] = [];

  const pay = (form: URLSearchParams): ServedAnswer => {
    const amount = Number(form.get("amount"));
    if (form.get("payment_method") === "pm_declined") return failure(402, "card_declined");
    if (form.get("payment_method") === "pm_unknown") return failure(400, "resource_missing");
    const isOpen = form.get("payment_method") === null;
    const [id, status] = [`pi_${payments.length + 1}`, isOpen ? "requires_payment_method" : "succeeded"];
    const result = { id, status, amount, currency: form.get("currency") };
    const key = form.get("metadata[cairn_key]") ?? "";
    if (!isOpen) payments.push({ key, input: { amount }, result, undone: false });
    return json(200, { ...result, object: "payment_intent" });
  };
  const refund = (form: URLSearchParams): ServedAnswer => {
    const index = payments.findIndex(({ result }) => (result as { id: string }).id === form.get("payment_intent"));
    const payment = payments[index];
    if (payment === undefined) return failure(404, "resource_missing");
    if (payment.undone) return failure(400, "charge_already_refunded");
    payments[index] = { ...payment, undone: true };
    return json(200, { id: `re_${index}`, object: "refund" });
  };
  const search = (query: string): ServedAnswer => {
    const key = /^metadata\['cairn_key'\]:'(.+)'$/.exec(query)?.[1]?.replaceAll(/\\(.)/g, "$1");
    return json(200, {
      data: isSearchLate ? [] : payments.filter((each) => each.key === key).map(({ result }) => result),
    });
  };
  const post = ({ url, headers, body }: ServedRequest): ServedAnswer => {
    const [key, params] = [String(headers["idempotency-key"]), String(body)];
    forms.push(Object.fromEntries(new URLSearchParams(params)));
    const known = answers.get(key);
    if (known !== undefined)
      return known.params === params ? replayed(known.answer) : failure(400, "idempotency_error");
    const answer = (url.pathname === "/v1/refunds" ? refund : pay)(new URLSearchParams(params));
    answers.set(key, { params, answer });
    return answer;
  };
  const url = await serve((request) => {
    const { method, url, headers } = request;
    requests.push(`${method} ${url.pathname}`);
    if (headers.authorization !== "Bearer sk_test") return failure(401, "invalid_api_key");
    const befalls = fault({ nth: requests.length });
    if (befalls === "unavailable") return { status: 503 };
    if (typeof befalls === "number") return failure(befalls, "refused_before_its_key");
    if (befalls === "keysForgotten") answers.clear();
    const answer = method === "GET" ? search(url.searchParams.get("query") ?? "") : post(request);
    return lost(answer, befalls === "answerLost");
  });
  const reset = (): void => {
    payments.length = 0;
    requests.length = 0;
    forms.length = 0;
    answers.clear();
  };
  return { url, requests, forms, service: serviceView({ name: "payments", effects: () => payments, reset }) };
}
