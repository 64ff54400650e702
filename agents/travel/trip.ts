/**
 * The schemas of trips, offers and orders, and the offers of the example. A hash of the query determines the offers, so
 * the same query finds the same offers in every process, and another trip finds others.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import type { CallContext } from "../../src/index.ts";

const words = z.string().min(1);
const dollars = z.int().positive();

export const trip = z.object({
  from: words,
  to: words,
  date: z.iso.date().default("2027-05-14"),
  nights: z.int().min(1).max(30).default(3),
  traveller: words.default("Ada Lovelace"),
  /** The number of the trip, such as 42. Orders of one trip have keys that name it. */
  trip: words.regex(/^[\w-]{1,40}$/).optional(),
});

/** The number of the trip, on each of its orders. */
const numbered = { trip: trip.shape.trip };

export const flight = z.object({ flight: words, route: words, date: z.iso.date(), hours: z.int(), priceUsd: dollars });
export const hotel = z.object({
  hotel: words,
  checkIn: z.iso.date(),
  nights: z.int(),
  stars: z.int(),
  priceUsd: dollars,
});

/** The result of the comparison. */
export const choice = z.object({ flight, hotel, totalUsd: dollars });

export const flightOrder = flight.extend({ traveller: words, ...numbered });
export const hotelOrder = hotel.extend({ traveller: words, ...numbered });
/** Flight, hotel and charge are identified by their references. */
export const chargeOrder = z.object({ amountUsd: dollars, flight: words, hotel: words, traveller: words, ...numbered });
export const mailOrder = z.object({ flight: words, hotel: words, charge: words, traveller: words, ...numbered });

/**
 * The business key of a step of a trip, such as `trip_42_book_flight_v1`. It is the same
 * however often the step is sent. A restart books again, as `v2`. Null: the trip has no number, so the run's own key is
 * used.
 */
export const keyOf =
  (step: string) =>
  (order: { readonly trip?: string | undefined }, { restart }: Pick<CallContext, "restart">): string | null =>
    order.trip === undefined ? null : `trip_${order.trip}_${step}_v${restart}`;

/** The common field of all bookings. */
export const booked = z.object({ reference: words });

export type Flight = z.output<typeof flight>;
export type Hotel = z.output<typeof hotel>;

export function flightOffers(asked: { from: string; to: string; date: string }): Flight[] {
  const route = `${asked.from} to ${asked.to}`;
  return ["Albatross", "Boreal", "Curlew"].map((airline) => {
    const drawn = draw(airline, route);
    const fare = draw(airline, route, asked.date);
    return {
      flight: `${airline} ${100 + (drawn % 900)}`,
      route,
      date: asked.date,
      hours: 1 + (drawn % 12),
      priceUsd: 90 + (fare % 410),
    };
  });
}

export function hotelOffers(asked: { city: string; checkIn: string; nights: number }): Hotel[] {
  return ["Grand Hotel", "Harbour Inn", "Old Town House"].map((name) => {
    const nightUsd = 45 + (draw(name, asked.city, asked.checkIn) % 155);
    return {
      hotel: `${name} ${asked.city}`,
      checkIn: asked.checkIn,
      nights: asked.nights,
      stars: 2 + (draw(name, asked.city) % 4),
      priceUsd: nightUsd * asked.nights,
    };
  });
}

/** Chooses the cheapest offers: an hour of flight counts as $25, and hotels compare by dollars per star. */
export function choose(flights: readonly Flight[], hotels: readonly Hotel[]): z.output<typeof choice> {
  const flight = cheapest(flights, ({ priceUsd, hours }) => priceUsd + 25 * hours);
  const hotel = cheapest(hotels, ({ priceUsd, stars }) => priceUsd / stars);
  return { flight, hotel, totalUsd: flight.priceUsd + hotel.priceUsd };
}

function cheapest<Offer>(offers: readonly Offer[], cost: (offer: Offer) => number): Offer {
  const [first] = offers.toSorted((one, other) => cost(one) - cost(other));
  if (first === undefined) throw new Error("there is nothing to choose from");
  return first;
}

/** A reference of six characters. Equal orders have equal references, so that equal runs have equal results. */
export const referenceOf = (...order: readonly (string | number)[]): string => hashOf(order).slice(0, 6).toUpperCase();

const draw = (...of: readonly string[]): number => Number.parseInt(hashOf(of).slice(0, 8), 16);

const hashOf = (parts: readonly (string | number)[]): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("hex");
