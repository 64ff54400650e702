/** How the streams of a server take turns: nobody else waits for all pages of all readers. */
import { expect, test } from "vitest";
import type { EventPage } from "../../src/operations/event-page.ts";
import { followRun } from "../../src/api/streams/follow-run.ts";
import { OpenStreams } from "../../src/api/streams/open-streams.ts";
import { Turns } from "../../src/api/streams/turns.ts";

const PAGES = 20;
const READERS = 20;
const EVENTS_PER_PAGE = 50;

/** A long run in a synchronous store: each page is there at once. It counts the pages that are read in one turn. */
function longRun() {
  let [inTurn, most, reads] = [0, 0, 0];
  const pageOf = async (query: string): Promise<EventPage> => {
    inTurn += EVENTS_PER_PAGE;
    reads += 1;
    most = Math.max(most, inTurn);
    const next = Number(new URLSearchParams(query).get("after")) + 1;
    return { kind: "shown", entries: [], next, more: next < PAGES, status: "running", inProgress: next < PAGES };
  };
  return {
    pageOf,
    beginTurn: () => (inTurn = 0),
    counted: () => ({ most, reads }),
  };
}

test("readers of a long run leave turns of the event loop to all others", async () => {
  const { pageOf, beginTurn, counted } = longRun();
  const turns = new Turns(async () => {
    await new Promise((resolve) => void setImmediate(resolve));
    beginTurn();
  });
  const streams = new OpenStreams({ turns });
  const reader = { run: "r", caller: { tenant: "local", actor: "ann" } };
  const follow = async (): Promise<string> => {
    const response = await streams.seated(reader, (seat) =>
      followRun({
        ...{ pageOf, streams, seat, from: "0", headers: {}, opening: "", broken: "" },
        queryOf: (cursor) => `after=${cursor}`,
        next: (page: EventPage) => ({ pieces: [`${page.next} `], isOver: !page.inProgress }),
      }),
    );
    return response.text();
  };
  const texts = await Promise.all(Array.from({ length: READERS }, follow));
  const whole = Array.from({ length: PAGES }, (_, index) => `${index + 1} `).join("");
  expect(texts).toEqual(Array.from({ length: READERS }, () => whole));
  expect(counted()).toEqual({ most: EVENTS_PER_PAGE, reads: PAGES * READERS });
  expect(streams.size).toBe(0);
});
