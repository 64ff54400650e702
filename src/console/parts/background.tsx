/** What a human who decides has to know of the run: its task, and what its tools gave before the call. */
import { askApi } from "../api/http.ts";
import { pathOf } from "../model/commands.ts";
import { jsonLine, visibleText } from "../model/visible-text.ts";
import { useRead } from "../store/use-read.ts";
import type { EventPage } from "../../operations/event-page.ts";
import type { Shown } from "../../operations/views.ts";
import { readBefore } from "../model/read-before.ts";
import { short } from "../../render/words.ts";

const TASK_CHARACTERS = 300;
const RESULT_CHARACTERS = 200;

export function Background({ run, before }: { readonly run: string; readonly before: string }) {
  const { value } = useRead(
    async (signal) => {
      const [shown, page] = await Promise.all([
        askApi<Pick<Shown, "task">>(pathOf("show", { run }), { signal }),
        askApi<EventPage>(pathOf("timeline", { run }), { signal }),
      ]);
      return { task: shown.task, read: readBefore(page.entries, before) };
    },
    [run, before],
  );
  // Without it the card has all that a decision needs, so no reason is shown.
  if (value === null) return null;
  return (
    <dl class="facts small">
      <dt>task</dt>
      <dd>{visibleText(short(jsonLine(value.task), TASK_CHARACTERS))}</dd>
      {value.read.map(({ call, tool, says }) => [
        <dt key={call}>
          {tool} <code>{call}</code>
        </dt>,
        <dd key={`${call} result`}>{visibleText(short(says, RESULT_CHARACTERS))}</dd>,
      ])}
    </dl>
  );
}
