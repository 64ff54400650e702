/**
 * An agent that books a trip in seven steps: two searches, a comparison, and four orders that must not
 * happen twice. Each order carries an idempotency key to the external service, such as `trip_42_book_flight_v1`. So a
 * run that died in the middle of an order can simply send it again.
 */
import { join } from "node:path";
import { type RunView, check, defineAgent, defineChaos, tool } from "cairn-run";
import { z } from "zod";
import { model, price } from "./model.ts";
import { ask, book, bookingsIn, cancel, takes } from "./services.ts";
import * as trips from "./trip.ts";

export const travel = defineAgent({
  name: "travel",
  version: "1",
  model,
  price,
  instructions: "Book the trip: search, compare, book flight and hotel, charge the card, send the confirmation.",
  task: trips.trip,
  // Time at work counts across process deaths, and a wait for a human does not count.
  budget: { usd: 2, beats: 30, wall: process.env.TRAVEL_WALL ?? "60s" },
  // If the trip fails, its bookings are cancelled and the run restarts once from its task.
  saga: { restarts: 1 },

  tools: {
    searchFlights: tool({
      description: "Finds flights on a day.",
      input: z.object({ from: z.string(), to: z.string(), date: z.iso.date() }),
      effect: "none",
      run: async ({ input, signal }) => {
        await ask("search", { what: "searchFlights", signal });
        await takes(2_000, signal);
        return trips.flightOffers(input);
      },
    }),

    searchHotels: tool({
      description: "Finds hotels in a city.",
      input: z.object({ city: z.string(), checkIn: z.iso.date(), nights: z.int() }),
      effect: "none",
      run: async ({ input, signal }) => {
        await ask("search", { what: "searchHotels", signal });
        await takes(2_000, signal);
        return trips.hotelOffers(input);
      },
    }),

    compare: tool({
      description: "Chooses a flight and a hotel.",
      input: z.object({ flights: z.array(trips.flight), hotels: z.array(trips.hotel) }),
      effect: "none",
      run: async ({ input, signal }) => {
        await takes(1_000, signal);
        return trips.choose(input.flights, input.hotels);
      },
    }),

    bookFlight: tool({
      description: "Books a flight.",
      input: trips.flightOrder,
      effect: "keyed",
      key: trips.keyOf("book_flight"),
      externalId: referenceIn,
      run: ({ input, key, signal }) => book("airline", { order: input, key, signal }),
      undo: { effect: "keyed", run: ({ of, key, signal }) => cancel("airline", { booking: of.key, key, signal }) },
    }),

    bookHotel: tool({
      description: "Books a hotel.",
      input: trips.hotelOrder,
      effect: "keyed",
      key: trips.keyOf("book_hotel"),
      externalId: referenceIn,
      run: ({ input, key, signal }) => book("hotel", { order: input, key, signal }),
      undo: { effect: "keyed", run: ({ of, key, signal }) => cancel("hotel", { booking: of.key, key, signal }) },
    }),

    chargeCard: tool({
      description: "Pays for flight and hotel.",
      input: trips.chargeOrder,
      effect: "keyed",
      key: trips.keyOf("charge"),
      externalId: referenceIn,
      run: ({ input, key, signal }) => book("card", { order: input, key, signal }),
      undo: { effect: "keyed", run: ({ of, key, signal }) => cancel("card", { booking: of.key, key, signal }) },
    }),

    sendConfirmation: tool({
      description: "Mails the traveller what was booked and paid.",
      input: trips.mailOrder,
      effect: "keyed",
      key: trips.keyOf("confirm"),
      externalId: referenceIn,
      run: ({ input, key, signal }) => book("mail", { order: input, key, signal }),
    }),
  },

  done: [check("has-confirmation", (view) => made(view, "sendConfirmation") !== null || "no confirmation was sent")],

  result: (view) => ({
    flight: made(view, "bookFlight"),
    hotel: made(view, "bookHotel"),
    charge: made(view, "chargeCard"),
    confirmation: made(view, "sendConfirmation"),
    totalUsd: trips.chargeOrder.parse(made(view, "chargeCard")).amountUsd,
  }),
});

/** For `cairn chaos travel`: one traveller per task, and the bookings that the services report. */
export const chaos = defineChaos({
  input: (task) => ({
    from: "Hamburg",
    to: "Lisbon",
    date: "2027-03-14",
    traveller: `Traveller ${task}`,
    trip: String(task),
  }),
  env: (dir) => ({ TRAVEL_SERVICES: servicesOf(dir), TRAVEL_PACE: "0" }),
  standIns: { bookFlight: "service", bookHotel: "service", chargeCard: "service", sendConfirmation: "service" },
  effects: (dir) =>
    SOLD.flatMap(([service, tool]) =>
      bookingsIn(servicesOf(dir), service).map(({ key, traveller }) => ({ tool, id: key, of: traveller })),
    ),
});

const servicesOf = (dir: string): string => join(dir, "services");

const SOLD = [
  ["airline", "bookFlight"],
  ["hotel", "bookHotel"],
  ["card", "chargeCard"],
  ["mail", "sendConfirmation"],
] as const;

/** The result of the tool's successful call, or null. */
function made({ calls }: Pick<RunView, "calls">, tool: string): RunView["calls"][number]["result"] {
  return calls.find((call) => call.tool === tool && call.outcome === "succeeded")?.result ?? null;
}

/** The external service's reference of a booking, for the ledger. */
function referenceIn(result: unknown): string | null {
  return trips.booked.safeParse(result).data?.reference ?? null;
}
