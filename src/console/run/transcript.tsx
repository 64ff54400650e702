/** The transcript beside the ledger: picking a call highlights it in both. What a model or tool wrote is text. */
import { useMemo } from "preact/hooks";
import { askApi } from "../api/http.ts";
import { pathOf } from "../model/commands.ts";
import { visibleText } from "../model/visible-text.ts";
import { ShownJson, Loading, MayBeOld, Problem, When } from "../parts/basics.tsx";
import { MeasuredList } from "../parts/measured-list.tsx";
import { route, setQuery } from "../store/route.ts";
import { useRead } from "../store/use-read.ts";
import type { LedgerEntry } from "../../codec/archive.ts";
import type { Message, Part, Value } from "../../core/message.ts";
import type { SnapshotShown } from "../../operations/snapshot.ts";
import type { Shown, TimelineEntry } from "../../operations/views.ts";
import { ledgerOf } from "../../history/call-ledger.ts";
import { count, visible } from "../../render/words.ts";

export function Transcript({ run, entries }: { readonly run: Shown; readonly entries: readonly TimelineEntry[] }) {
  const { run: id, version } = run;
  const { value, trouble } = useRead(
    (signal) => askApi<SnapshotShown>(pathOf("snapshot", { run: id, version }), { signal }),
    [id, version],
  );
  const picked = route.value.query.get("call");
  if (value === null)
    return trouble === null ? <Loading /> : <Problem trouble={trouble} title="The transcript cannot be read" />;
  const { state, omittedMessages } = value;
  return (
    <div class="two">
      <div>
        <h2>Transcript</h2>
        <MayBeOld trouble={trouble} />
        {omittedMessages > 0 ? (
          <p class="quiet">
            {count(omittedMessages, "older message")} left out: npx cairn export {run.run} has all.
          </p>
        ) : null}
        <MeasuredList
          label="Transcript"
          items={state.messages}
          keyOf={({ id }) => String(id)}
          height={MESSAGE_HEIGHT}
          draw={(message) => <MessageOf message={message} picked={picked} />}
          at={picked === null ? -1 : state.messages.findIndex((message) => callsIn(message).includes(picked))}
        />
      </div>
      <div>
        <h2>Ledger: what it did to the world</h2>
        <Ledger entries={entries} picked={picked} />
      </div>
    </div>
  );
}

const MESSAGE_HEIGHT = 120;
const ENTRY_HEIGHT = 116;

function pick(call: string): void {
  const query = new URLSearchParams(route.peek().query);
  if (query.get("call") === call) query.delete("call");
  else query.set("call", call);
  setQuery(query);
}

const callsIn = ({ parts }: Message): readonly string[] =>
  parts.flatMap((part) => (part.kind === "call" || part.kind === "result" ? [part.call] : []));

const MessageOf = ({ message, picked }: { readonly message: Message; readonly picked: string | null }) => (
  <article class={`message ${picked !== null && callsIn(message).includes(picked) ? "picked" : ""}`}>
    <p class="line small quiet">
      <b>{message.source}</b> <When at={message.at} />
    </p>
    {message.parts.map((part, index) => (
      <PartOf key={index} part={part} />
    ))}
  </article>
);

function PartOf({ part }: { readonly part: Part }) {
  switch (part.kind) {
    case "text":
      return <p>{visibleText(part.text)}</p>;
    case "reasoning":
      return (
        <details>
          <summary>reasoning</summary>
          <p class="quiet">{visibleText(part.text)}</p>
        </details>
      );
    case "call":
      return (
        <div>
          <CallButton call={part.call} says={`calls ${part.tool}`} />
          <ShownJson of={shown(part.args)} />
        </div>
      );
    case "result":
      return (
        <div>
          <CallButton call={part.call} says={`${part.tool}: ${part.outcome}`} />
          {part.edited === null ? null : (
            <p class="warn small">A human changed the arguments: {visible(JSON.stringify(shown(part.edited)))}</p>
          )}
          <ShownJson of={shown(part.value)} />
        </div>
      );
    default:
      return <p>file {part.name}</p>;
  }
}

const CallButton = ({ call, says }: { readonly call: string; readonly says: string }) => (
  <button type="button" class="plain" onClick={() => pick(call)}>
    <code>{call}</code> {says}
  </button>
);

const shown = (value: Value): unknown =>
  value.kind === "inline" ? value.json : `${value.head}\n… ${count(value.bytes, "byte")} in all …\n${value.tail}`;

const TONES: { readonly [S in LedgerEntry["status"]]: string } = {
  proposed: "quiet",
  intended: "quiet",
  started: "busy",
  succeeded: "good",
  failed: "bad",
  unknown: "warn",
  reconciled: "good",
  compensated: "quiet",
};

function Ledger({ entries, picked }: { readonly entries: readonly TimelineEntry[]; readonly picked: string | null }) {
  const calls = useMemo(() => ledgerOf(entries), [entries]);
  if (calls.length === 0)
    return <p class="quiet">No call yet. Each call that the model proposes gets an entry here, before it runs.</p>;
  return (
    <MeasuredList
      label="Ledger"
      items={calls}
      keyOf={({ call }) => call}
      height={ENTRY_HEIGHT}
      draw={(each) => <Entry of={each} picked={picked} />}
      at={calls.findIndex(({ call }) => call === picked)}
    />
  );
}

const Entry = ({ of: each, picked }: { readonly of: LedgerEntry; readonly picked: string | null }) => (
  <article class={`entry ${each.call === picked ? "picked" : ""}`}>
    <p class="line">
      <button type="button" class="plain" onClick={() => pick(each.call)}>
        <code>{each.call}</code> <b>{each.tool}</b>
      </button>
      <span class={TONES[each.status]}>{each.status}</span>
      {each.effect === null ? null : <span class="tag">{each.effect}</span>}
      {each.attempts > 1 ? <span class="tag warn">{count(each.attempts, "attempt")}</span> : null}
    </p>
    <dl class="facts small">
      {each.key === null ? null : <Fact name="key" text={each.key} />}
      {each.externalId === null ? null : <Fact name="external ID" text={each.externalId} />}
      <dt>evidence</dt>
      <dd>{each.evidence}</dd>
    </dl>
  </article>
);

const Fact = ({ name, text }: { readonly name: string; readonly text: string }) => (
  <>
    <dt>{name}</dt>
    <dd>
      <code>{text}</code>
    </dd>
  </>
);
