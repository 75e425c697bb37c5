import type { DataBudget, DeploymentEvent } from "../../../protocol/api-types.ts";
import { formatBytes } from "../../parts/format-bytes.ts";

/** What a deployment costs, from the last event of its dry run. */
export interface Price {
  readonly downloadBytes: number;
  readonly diskBytes: number | undefined;
  /** Layers to download, of all. */
  readonly layers: { readonly missing: number; readonly all: number } | undefined;
}

/** Reads the price from the last event of a dry run; `undefined` if the device did not say it. */
export function readPrice({ details = {} }: Pick<DeploymentEvent, "details">): Price | undefined {
  const download = numberOf(details["download_bytes"]);
  if (download === undefined) return undefined;
  const [all, present] = [numberOf(details["layers"]), numberOf(details["layers_present"])];
  return {
    downloadBytes: download,
    diskBytes: numberOf(details["disk_bytes"]),
    layers: all === undefined || present === undefined ? undefined : { missing: all - present, all },
  };
}

/** The price in a sentence. */
export function priceText({ downloadBytes, diskBytes, layers }: Price): string {
  if (downloadBytes === 0) return "Nothing has to be downloaded: the device has the whole image.";
  const parts = layers && layers.missing > 0 ? ` in ${layers.missing} of ${layers.all} layers` : "";
  const disk = diskBytes === undefined ? "" : `, and about ${formatBytes(diskBytes)} of disk`;
  return `${formatBytes(downloadBytes)} of download${parts}${disk}.`;
}

/** What the price is of the device's data budget; `undefined` if it has none. */
export function budgetText({ downloadBytes }: Price, budget: DataBudget | null | undefined): string | undefined {
  if (!budget) return undefined;
  const { monthly_bytes: monthly, daily_bytes: daily } = budget;
  const left = [
    ...(monthly === null ? [] : [{ bytes: monthly - budget.used_this_month_bytes, period: "month" }]),
    ...(daily === null ? [] : [{ bytes: daily - budget.used_today_bytes, period: "day" }]),
  ].toSorted((a, b) => a.bytes - b.bytes)[0];
  if (!left) return undefined;
  const rest = Math.max(0, left.bytes);
  const text = `The device's data budget has ${formatBytes(rest)} left this ${left.period}.`;
  return downloadBytes > rest ? `${text} The download does not fit: it would wait, unless it is urgent.` : text;
}

/** The words of a button that starts the deployment. */
export function buttonText(verb: string, price: Price | undefined): string {
  if (!price) return verb;
  return price.downloadBytes === 0 ? `${verb}, without a download` : `${verb} for ${formatBytes(price.downloadBytes)}`;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}
