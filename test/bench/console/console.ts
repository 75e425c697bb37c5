import type { Bench } from "../result.ts";
import { eventToScreen } from "./event-to-screen.ts";
import { firstPage } from "./first-page.ts";
import { longList } from "./long-list.ts";
import { startRig } from "./rig.ts";

const ASSETS = 100_000;

/** The web console in a real browser, against a real service with many assets. */
export const webConsole: Bench = {
  name: "console",
  async run({ quick }) {
    await using rig = await startRig(ASSETS);
    const first = await firstPage(rig, quick ? 1 : 5);
    const events = await eventToScreen(rig, quick ? 6 : 50);
    const list = await longList(rig, { rows: quick ? 4000 : ASSETS, turns: quick ? 2 : 10 });
    return {
      rows: [...first.rows, ...events.rows, ...list.rows],
      data: { first: first.data, events: events.data, list: list.data },
    };
  },
};
