/** Starts the console: it follows the runs and what waits for a human, and shows the page that the address names. */
import { effect } from "@preact/signals";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { shortRun } from "../render/words.ts";
import { Frame } from "./parts/frame.tsx";
import { Empty } from "./parts/basics.tsx";
import { Agents } from "./pages/agents.tsx";
import { Health } from "./pages/health.tsx";
import { Needs } from "./pages/needs.tsx";
import { RunPage } from "./run/page.tsx";
import { Runs } from "./pages/runs.tsx";
import { Schedules } from "./pages/schedules.tsx";
import { Settings } from "./pages/settings.tsx";
import { readCaller } from "./store/caller.ts";
import { followNeeds } from "./store/needs.ts";
import { hrefOf, route } from "./store/route.ts";
import { followRuns } from "./store/runs.ts";

function App() {
  useEffect(() => {
    const stop = new AbortController();
    void readCaller();
    void followRuns(stop.signal);
    void followNeeds(stop.signal);
    return () => stop.abort();
  }, []);
  return (
    <Frame>
      <Page />
    </Frame>
  );
}

function Page() {
  const [first] = route.value.path;
  switch (first) {
    case "runs":
      return <Runs />;
    case "schedules":
      return <Schedules />;
    case "agents":
      return <Agents />;
    case "needs":
      return <Needs />;
    case "run":
      return <RunPage />;
    case "health":
      return <Health />;
    case "settings":
      return <Settings />;
    default:
      return (
        <section class="page scrolls">
          <Empty isPage title="There is no such page">
            The address names none. <a href={hrefOf(["runs"])}>Show the runs</a>
          </Empty>
        </section>
      );
  }
}

const PAGES: Readonly<Record<string, string>> = {
  runs: "Runs",
  needs: "Needs me",
  schedules: "Schedules",
  agents: "Agents",
  health: "Health",
  settings: "Settings",
};

/** Tabs and the history of the browser tell the pages apart by it. */
effect(() => {
  const [first = "", about = ""] = route.value.path;
  const word = PAGES[first] ?? "No such page";
  document.title = `${first === "run" ? shortRun(about) : about || word} · cairn`;
});

const root = document.getElementById("app");
if (root !== null) render(<App />, root);
