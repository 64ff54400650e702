/**
 * The model of this example, a function of the conversation: it needs no network, and another trip gives another run.
 * It picks the first step that has not succeeded yet.
 */
import { type Conversation, type ScriptedReply, scriptedModel } from "cairn-run";
import { log } from "./services.ts";
import { booked, choice, trip } from "./trip.ts";

/** The seven steps in order, with the dollars that the model's reply for each step costs. */
const DOLLARS = {
  searchFlights: 0.05,
  searchHotels: 0.04,
  compare: 0.08,
  bookFlight: 0,
  bookHotel: 0,
  chargeCard: 0,
  sendConfirmation: 0,
} as const;

type Step = keyof typeof DOLLARS;

const steps = Object.keys(DOLLARS) as readonly Step[];

/** Dollars per million tokens. */
export const price = { inUsd: 10, outUsd: 30 };

/** The model tries a failed step once more, then it gives up. */
const TRIES_MAX = 2;

export const model = scriptedModel({ name: "travel-model", reply });

function reply(conversation: Conversation): ScriptedReply {
  const step = steps.find((tool) => conversation.resultOf(tool) === undefined);
  log("model", { what: step ?? "goodbye", key: trip.parse(conversation.task.json).traveller });
  if (step === undefined) return say("The trip is booked and paid, and the confirmation is on its way.");
  const trouble = troubleWith(step, conversation);
  if (trouble !== null) return say(`I stop before the trip is complete. ${trouble}`);
  return {
    calls: [{ tool: step, args: argsOf(step, conversation) }],
    tokensIn: Math.round((DOLLARS[step] * 1e6) / price.inUsd),
    tokensOut: 0,
  };
}

const say = (text: string): ScriptedReply => ({ text, tokensIn: 0, tokensOut: 0 });

/** Why a step must not be tried again, or null. */
function troubleWith(step: Step, { calls }: Conversation): string | null {
  const tries = calls.filter(({ tool }) => tool === step);
  const last = tries.at(-1);
  if (last === undefined) return null;
  // cairn has sent it as often as it may. Without a trip number a new call has a new key: it would be a second order.
  if (last.outcome === "unknown") return `It is not known whether ${step} happened; please check before you try again.`;
  const words = JSON.stringify(last.result);
  return tries.length >= TRIES_MAX || words.includes("declined") ? `${step} did not work: ${words}` : null;
}

function argsOf(step: Step, conversation: Conversation): Readonly<Record<string, unknown>> {
  const { from, to, date, nights, ...order } = trip.parse(conversation.task.json);
  const resultOf = (tool: Step) => conversation.resultOf(tool);
  const chosen = () => choice.parse(resultOf("compare"));
  const reference = (tool: Step) => booked.parse(resultOf(tool)).reference;
  switch (step) {
    case "searchFlights":
      return { from, to, date };
    case "searchHotels":
      return { city: to, checkIn: date, nights };
    case "compare":
      return { flights: resultOf("searchFlights"), hotels: resultOf("searchHotels") };
    case "bookFlight":
      return { ...chosen().flight, ...order };
    case "bookHotel":
      return { ...chosen().hotel, ...order };
    case "chargeCard":
      return {
        amountUsd: chosen().totalUsd,
        flight: reference("bookFlight"),
        hotel: reference("bookHotel"),
        ...order,
      };
    case "sendConfirmation":
      return {
        flight: reference("bookFlight"),
        hotel: reference("bookHotel"),
        charge: reference("chargeCard"),
        ...order,
      };
  }
}
