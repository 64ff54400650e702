/** Health: what the checks of the store say, how many runs are live, what was spent today, and what webhooks refused. */
import type { ComponentChildren } from "preact";
import { askApi } from "../api/http.ts";
import { pathOf } from "../model/commands.ts";
import { liveWords, spendRows, sweeperWords, workersWords, worstFirst } from "../model/health.ts";
import { Command, Empty, Loading, MayBeOld, NotAllowed, Problem, Wide } from "../parts/basics.tsx";
import { MeterBar } from "../parts/budget-bar.tsx";
import { money } from "../parts/run-row.tsx";
import { WebhookCard } from "../parts/webhook-card.tsx";
import { caller, mayDo } from "../store/caller.ts";
import { now } from "../store/clock.ts";
import { usePolled } from "../store/use-read.ts";
import type { HealthShown } from "../../operations/health.ts";
import type { WebhooksListed } from "../../operations/webhooks.ts";

/** A look at the store costs it something. */
const LOOK_MS = 60_000;
const WEBHOOKS_MS = 5_000;

export function Health() {
  const isAllowed = mayDo("health");
  const read = (): Promise<HealthShown> => askApi(pathOf("health", {}));
  const { value: health, trouble } = usePolled(read, { everyMs: LOOK_MS, isOn: isAllowed });
  return (
    <section class="page scrolls" aria-label="Health">
      <div class="inner">
        <h1>Health</h1>
        {isAllowed ? null : <NotAllowed titles={["Health"]} />}
        {isAllowed && health === null && trouble === null ? <Loading rows={6} /> : null}
        {health === null && trouble !== null ? <Problem trouble={trouble} title="The health cannot be read" /> : null}
        {health === null ? null : <MayBeOld trouble={trouble} />}
        {health === null ? null : <Shown health={health} />}
        {mayDo("webhooks") ? <Webhooks /> : null}
      </div>
    </section>
  );
}

const Card = ({ title, children }: { readonly title: string; readonly children: ComponentChildren }) => (
  <section class="sheet card" aria-label={title}>
    <h2>{title}</h2>
    {children}
  </section>
);

const Shown = ({ health }: { readonly health: HealthShown }) => (
  <>
    <Card title="Work">
      <dl class="facts">
        <dt>driven by</dt>
        <dd>{caller.value?.attendant?.name ?? "no process drives the runs now"}</dd>
        <dt>live runs</dt>
        <dd>{liveWords(health)}</dd>
        {health.sweeper == null ? null : (
          <>
            <dt>sweeper</dt>
            <Lines all={sweeperWords(health.sweeper, now.value)} />
            <dt>workers</dt>
            <Lines all={workersWords(health.workers)} />
          </>
        )}
      </dl>
    </Card>
    <Spend health={health} />
    <Checks health={health} />
  </>
);

const Lines = ({ all }: { readonly all: readonly string[] }) => (
  <dd>
    {all.map((line) => (
      <p key={line}>{line}</p>
    ))}
  </dd>
);

function Spend({ health }: { readonly health: HealthShown }) {
  const rows = spendRows(health);
  return (
    <Card title="Spend against its caps">
      {rows.length === 0 ? (
        <p class="quiet">
          Nothing caps the spend of a day: neither <code>spend.perDayUsd</code> of the config nor a limit of the tenant.
        </p>
      ) : (
        <ul class="spend">
          {rows.map(({ title, used, cap }) => (
            <li key={title}>
              <span class="grow">{title}</span>
              <span class={used >= cap ? "bad" : ""}>
                {money(used)} of {money(cap)}
              </span>
              <MeterBar of={{ meter: "usd", used, limit: cap }} />
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function Checks({ health: { examined } }: { readonly health: HealthShown }) {
  if (examined === null) {
    return (
      <Card title="Checks">
        <p class="quiet">This server may not look at what runs need. With your own rights:</p>
        <Command text="npx cairn doctor" />
      </Card>
    );
  }
  const { cairn, world, checks } = examined;
  return (
    <Card title="Checks">
      <p class="quiet small">
        cairn {cairn}, world {world}
      </p>
      <Wide label="What each check saw">
        <table class="table checks">
          <thead>
            <tr>
              <th>Check</th>
              <th>What was seen</th>
            </tr>
          </thead>
          <tbody>
            {worstFirst(checks).map(({ id, says, status, why, mend }) => (
              <tr key={id}>
                <td>
                  <span class={`check ${status}`}>{WORDS[status]}</span> <span title={says}>{id}</span>
                </td>
                <td>
                  <p>{why}</p>
                  {mend === null ? null : <p class="quiet small">What to do: {mend}</p>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </Card>
  );
}

const WORDS = { ok: "ok", warn: "warning", fail: "failed", unknown: "unknown" } as const;

function Webhooks() {
  const read = (): Promise<WebhooksListed> => askApi(pathOf("webhooks", {}));
  const { value: list, trouble, again } = usePolled(read, { everyMs: WEBHOOKS_MS });
  const endpoints = list?.endpoints ?? [];
  return (
    <>
      <h2>Webhooks</h2>
      {list === null && trouble !== null ? <Problem trouble={trouble} title="The webhooks cannot be read" /> : null}
      {list?.endpoints.length === 0 ? (
        <Empty title="No process has sent a webhook">
          Endpoints stand under <code>webhooks</code> in cairn.config.ts. They hear of runs that end, fail or wait for a
          human.
        </Empty>
      ) : null}
      {endpoints.map((each) => (
        <WebhookCard key={each.id} endpoint={each} others={endpoints} onDone={again} />
      ))}
    </>
  );
}
