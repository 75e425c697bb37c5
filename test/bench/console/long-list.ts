import type { Page } from "playwright-core";
import { waitFor } from "../../support/wait-for.ts";
import { atMost, type BenchResult, type Row } from "../result.ts";
import { median } from "../measure.ts";
import { type Frames, LONG_FRAME_MS, recordFrames, sumFrames } from "./frames.ts";
import type { ConsoleRig, OpenedPage } from "./rig.ts";
import { openStaticList, ROW_HEIGHT_PX, TABLE } from "./static-list.ts";

/** Nine rows in a frame: as fast as a wheel turns. */
const STEP_PX = 400;
/** As a person pulls the bar: each frame has other rows. */
const FAST_STEP_PX = 2000;
const FRAMES_OF_TURN = 200;
const SEARCH = "GW-0421";
const KEY_MS = 60;

/** Frames while the list is scrolled to its end and filtered, and beside it those of the same rows without any script. */
export async function longList(
  rig: ConsoleRig,
  options: { readonly rows: number; readonly turns: number },
): Promise<BenchResult> {
  await using ours = await rig.open();
  await ours.page.goto(`${rig.url}/assets`);
  await ours.page.locator(`${TABLE} a`).first().waitFor();
  await using plain = await openStaticList(rig, ours.page);
  const through = await recordFrames(ours.page, ours.debug, () => ours.page.evaluate(scrollToRow(options.rows)));
  const { list, reference, ratio } = await byTurns(ours, plain, options.turns);
  const filtered = await recordFrames(ours.page, ours.debug, () => filter(ours.page));
  return {
    data: { through, list, reference, filtered },
    rows: [
      rowOf(`list scrolled through ${options.rows} rows as they arrive, ${FAST_STEP_PX} px a frame`, through),
      {
        ...rowOf(`list of ${options.rows} rows scrolled, ${STEP_PX} px a frame`, list),
        reference: `the same rows without script: ${describe(reference)}`,
      },
      {
        what: "console: work of the main thread for such a frame, median of turns",
        value: `${list.workPerFrame.toFixed(2)} ms, ${list.scriptPerFrame.toFixed(2)} ms of it script`,
        reference: `without script: ${reference.workPerFrame.toFixed(2)} ms`,
        ratio,
      },
      rowOf(`list of ${options.rows} rows filtered by text and attention, and back`, filtered),
    ],
  };
}

function rowOf(what: string, frames: Frames): Row {
  return {
    what: `console: ${what}: frames over ${LONG_FRAME_MS} ms`,
    value: describe(frames),
    target: atMost(0, "", frames.long),
  };
}

function describe({ long, longWork, count, longest }: Frames): string {
  return `${long} of ${count} (${longWork} by the page's own work), longest ${longest.toFixed(0)} ms`;
}

/** Scrolls the list and the plain one in turns, so that other load meets both. */
async function byTurns(ours: OpenedPage, plain: OpenedPage, turns: number) {
  const list: Frames[] = [];
  const reference: Frames[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const both = [
      [list, ours],
      [reference, plain],
    ] as const;
    for (const [frames, { page, debug }] of turn % 2 === 0 ? both : both.toReversed())
      frames.push(await recordFrames(page, debug, () => page.evaluate(scrollBothWays(FRAMES_OF_TURN))));
  }
  const ratios = list.map(({ workPerFrame }, turn) => workPerFrame / (reference[turn]?.workPerFrame ?? Number.NaN));
  return { list: sumFrames(list), reference: sumFrames(reference), ratio: median(ratios) };
}

/** Types a text letter by letter, selects a filter, and takes both away again. */
async function filter(page: Page): Promise<void> {
  const count = async (): Promise<string | undefined> => {
    const texts = await page.getByRole("status").allTextContents();
    return texts.map((text) => /^[\d,]+ (?:asset|loaded)/.exec(text)?.[0]).find((text) => text !== undefined);
  };
  const changed = async (work: () => Promise<unknown>): Promise<void> => {
    const before = await count();
    await work();
    await waitFor("another number of assets", async () => {
      const now = await count();
      return now !== undefined && now !== before;
    });
  };
  const search = page.getByLabel("Search");
  await changed(() => search.pressSequentially(SEARCH, { delay: KEY_MS }));
  await changed(() => search.press("Control+A").then(() => search.press("Delete")));
  await changed(() => page.getByLabel("Attention").selectOption("disk_low"));
  await changed(() => page.getByRole("button", { name: "Clear" }).click());
}

/** Scrolls until so many rows were loaded and the last of them is in view. Runs in the page. */
const scrollToRow = (rows: number): string => `(async () => {
  const table = document.querySelector('${TABLE}');
  while (table.scrollTop + table.clientHeight < ${rows * ROW_HEIGHT_PX}) {
    await new Promise(requestAnimationFrame);
    table.scrollTop += ${FAST_STEP_PX};
  }
})()`;

/** Scrolls from the middle for so many frames, half of them upwards, and turns round at an end. Runs in the page. */
const scrollBothWays = (frames: number): string => `(async () => {
  const table = document.querySelector('${TABLE}');
  table.scrollTop = table.scrollHeight / 2;
  let step = ${STEP_PX};
  for (let frame = 0; frame < ${frames}; frame++) {
    await new Promise(requestAnimationFrame);
    const before = table.scrollTop;
    table.scrollTop += step;
    if (frame === ${frames / 2} || table.scrollTop === before) step = -step;
  }
})()`;
