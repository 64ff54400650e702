/**
 * A payment through an API of Stripe's form. The idempotency key makes one payment of all attempts while the service
 * remembers it (Stripe: a day). A search for the key in the payment's metadata finds the payment after that. Both together leave no
 * gap, so the class is `probed`.
 *
 * The epoch is not part of the request: Stripe refuses a key that comes back with other parameters.
 */
import type * as z from "zod";
import type { OfCall, Probe, ProbeContext, Tool, ToolContext } from "../ports/agent.ts";
import { tool } from "../sdk/define.ts";
import { Rejected } from "../sdk/outcome.ts";
import { type HttpAnswer, reasonOf, sendHttp, throwFor, verdictOf } from "./http-answer.ts";
import { attemptUnderKey } from "./later-attempt.ts";
import type { RequestContext, ToolSettings } from "./settings.ts";

/** A value of a form. Objects become `name[field]`. */
export type FormValue = string | number | boolean | { readonly [field: string]: FormValue };

export interface StripePaymentOptions<Schema extends z.ZodType> {
  /** The name of the secret that holds the API key. The agent declares it in `secrets`. */
  readonly secret: string;
  /**
   * The fields of a payment intent, such as `amount`, `currency`, `customer` and `payment_method`. It is confirmed at once,
   * and an intent that would need an action of the customer is refused.
   */
  readonly charge: (
    context: RequestContext<z.output<Schema>>,
  ) => Readonly<Record<string, FormValue>> | Promise<Readonly<Record<string, FormValue>>>;
  /** Default: `https://api.stripe.com`. */
  readonly baseUrl?: string;
  /** What undoes a payment. Default: `refund`, in full. */
  readonly undo?: "refund" | "none";
}

interface Payment {
  readonly id: string;
  readonly status: string;
  readonly amount: number;
  readonly currency: string;
}

/** A payment in one of these states takes, or will take, the money. */
const PAID: ReadonlySet<string> = new Set(["succeeded", "processing", "requires_capture"]);

/** Stripe's search may show a payment up to a minute late. A probe, or an undo of an unknown payment, waits that long. */
const SEARCH_LAG_MS = 60_000;

/**
 * A tool whose calls are payments.
 *
 * @example
 *   const charge = stripePayment({
 *     input: z.object({ cents: z.int() }),
 *     secret: "STRIPE_KEY",
 *     charge: ({ input, task }) => ({ amount: input.cents, currency: "eur", customer: customerOf(task) }),
 *   });
 */
export function stripePayment<Schema extends z.ZodType>(
  options: ToolSettings<Schema> & StripePaymentOptions<Schema>,
): Tool<Schema> {
  const { secret, charge, baseUrl = "https://api.stripe.com", undo = "refund", ...settings } = options;
  const api = { baseUrl, secret };
  return tool({
    settleMs: SEARCH_LAG_MS,
    externalId: (result) => String((result as unknown as Payment).id),
    ...settings,
    effect: "probed",
    run: (context) =>
      attemptUnderKey(context.attempt, async () => {
        const fields = { confirm: true, error_on_requires_action: true, ...(await charge(context)) };
        const metadata = { ...(fields as { readonly metadata?: object }).metadata, cairn_key: context.key };
        const form = { ...fields, metadata } as Readonly<Record<string, FormValue>>;
        return paidOf(await post(api, context, { path: "/v1/payment_intents", form }));
      }),
    probe: (context: ProbeContext<z.output<Schema>>) => lookUp(api, context, context.key),
    ...(undo === "refund" && {
      undo: {
        effect: "keyed" as const,
        run: (context: ToolContext<z.output<Schema>> & OfCall) => refund(api, context),
      },
    }),
  });
}

interface Api {
  readonly baseUrl: string;
  readonly secret: string;
}

type Caller = Pick<ToolContext<unknown>, "key" | "signal" | "secrets">;

async function post(
  { baseUrl, secret }: Api,
  { key, signal, secrets }: Caller,
  { path, form }: { readonly path: string; readonly form: Readonly<Record<string, FormValue>> },
): Promise<HttpAnswer> {
  const headers = { authorization: `Bearer ${await secrets.get(secret)}`, "idempotency-key": key };
  const body = new URLSearchParams(flat(form));
  return sendHttp({ url: new URL(path, baseUrl), headers, body, signal });
}

const flat = (fields: Readonly<Record<string, FormValue>>, prefix?: string): [string, string][] =>
  Object.entries(fields).flatMap(([field, value]): [string, string][] => {
    const name = prefix === undefined ? field : `${prefix}[${field}]`;
    return typeof value === "object" ? flat(value, name) : [[name, String(value)]];
  });

/** The payment of an answer. Throws if no money moves. */
function paidOf(answer: HttpAnswer): Payment {
  const error = codeOf(answer);
  // The key came first with other parameters, so the payment of those may have happened. A large answer may say so too.
  const isOpen = answer.isTooLarge || error === "idempotency_error";
  const verdict = isOpen ? "unknown" : verdictOf(answer.status, { honoursKeys: true });
  if (verdict === "refused" && isOfKey(answer)) throw new Rejected(reasonOf(answer));
  if (verdict !== "done") return throwFor(verdict, answer);
  const payment = read(answer.body ?? {});
  // What answers in place of the service, such as a proxy, does not know whether money has moved.
  if (typeof payment.id !== "string") return throwFor("unknown", answer);
  if (PAID.has(payment.status)) return payment;
  throw new Rejected(
    `payment ${payment.id} is ${payment.status}, so no money has moved: charge must give a payment_method`,
  );
}

/**
 * Whether a refusal holds for every request with the key. Stripe keeps the answer of the first request that it began to
 * execute, and marks it when it repeats it. A declined card (402) is such an answer. A check before that, such as of the
 * API key (401, 403), the rate (429) or the parameters (400), says nothing about an earlier request.
 */
const isOfKey = ({ status, headers }: HttpAnswer): boolean =>
  status === 402 || headers.get("idempotent-replayed") === "true";

/** The code of an error, or its type if it has none. */
function codeOf({ body }: HttpAnswer): string | undefined {
  const { error } = (body ?? {}) as { readonly error?: { readonly code?: string; readonly type?: string } };
  return error?.code ?? error?.type;
}

function read(body: unknown): Payment {
  const { id, status, amount, currency } = body as Payment;
  return { id, status, amount, currency };
}

async function lookUp(
  { baseUrl, secret }: Api,
  { signal, secrets }: Pick<Caller, "signal" | "secrets">,
  key: string,
): Promise<Probe> {
  const url = new URL("/v1/payment_intents/search", baseUrl);
  url.searchParams.set("query", `metadata['cairn_key']:'${key.replaceAll(/[\\']/g, String.raw`\$&`)}'`);
  const headers = { authorization: `Bearer ${await secrets.get(secret)}` };
  const answer = await sendHttp({ url, method: "GET", headers, signal });
  if (answer.status !== 200 || answer.isTooLarge) return { kind: "unknown" };
  const { data } = answer.body as Readonly<Record<"data", readonly Payment[]>>;
  const paid = data.find(({ status }) => PAID.has(status));
  return paid === undefined ? { kind: "absent" } : { kind: "happened", result: read(paid) };
}

/** Refunds the whole payment. A payment that is refunded already needs nothing more. */
async function refund(api: Api, context: Caller & OfCall): Promise<null> {
  const id = await paymentOf(api, context);
  if (id === null) return null;
  const answer = await post(api, context, { path: "/v1/refunds", form: { payment_intent: id } });
  const verdict =
    codeOf(answer) === "charge_already_refunded" ? "done" : verdictOf(answer.status, { honoursKeys: true });
  return verdict === "done" ? null : throwFor(verdict, answer);
}

async function paymentOf(api: Api, context: Caller & OfCall): Promise<string | null> {
  const { key, result } = context.of;
  if (result !== null) return read(result).id;
  const found = await lookUp(api, context, key);
  if (found.kind === "unknown") throw new Error(`the payment with key ${key} cannot be looked up now`);
  return found.kind === "happened" ? read(found.result).id : null;
}
