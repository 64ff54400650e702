/** What a stream of events says of a model that takes longer than usual. */
import { expect, test } from "vitest";
import { streamEvents } from "../../src/api/streams/event-stream.ts";
import { OpenStreams } from "../../src/api/streams/open-streams.ts";
import type { EventPage } from "../../src/operations/event-page.ts";

const PAGE: EventPage = { kind: "shown", entries: [], next: 3, more: false, status: "running", inProgress: true };

test("says once of each call that it takes longer than usual, and moves no cursor by that", async () => {
  const pages: EventPage[] = [
    PAGE,
    { ...PAGE, slowSince: 5 },
    { ...PAGE, slowSince: 5 },
    PAGE,
    { ...PAGE, slowSince: 9 },
    { ...PAGE, status: "completed", inProgress: false },
  ];
  const asked: string[] = [];
  const streams = new OpenStreams();
  const seat = streams.admit({ run: "local~a", caller: { tenant: "local", actor: "ada", token: "t" } });
  const response = await streamEvents(
    async (query) => {
      asked.push(/after=\d+/.exec(query)?.[0] ?? "");
      return pages.shift() ?? expect.fail("the stream reads on behind the end of its run");
    },
    { cursor: "3", deltas: false, startIndex: null, streams, seat },
  );
  const text = await response.text();
  expect(text.split("\n\n").filter((each) => each.startsWith("event: slow"))).toEqual([
    'event: slow\ndata: {"since":5}',
    'event: slow\ndata: {"since":9}',
  ]);
  expect(asked).toEqual(Array.from({ length: 6 }, () => "after=3"));
  expect(text).toContain('id: 3\nevent: end\ndata: {"status":"completed"}');
});
