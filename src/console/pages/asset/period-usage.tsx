import { Stack, Text } from "@mantine/core";
import { type ReactNode, Suspense, useMemo, useState } from "react";
import { toFailure } from "../../api/failure.ts";
import type { Asset, DataUsage } from "../../../protocol/api-types.ts";
import { Age } from "../../parts/age.tsx";
import { formatBytes } from "../../parts/format-bytes.ts";
import type { UseQueryResult } from "@tanstack/react-query";
import { formatTime } from "../../parts/durations.ts";
import { Loaded, Loading } from "../../parts/loaded.tsx";
import { Note } from "../../parts/note.tsx";
import { SIM_NAMES, SIM_TYPES, type SimType } from "../sims/sim-words.ts";
import { type SimUsage, useSimUsage } from "./sim-queries.ts";
import {
  compareUsage,
  isOutdated,
  type Period,
  rangeOf,
  sourcesOf,
  type UsageDay,
  usageDays,
  type UsageDifference,
  utcDay,
} from "./usage-days.ts";
import { Bytes } from "../../parts/bytes.tsx";
import classes from "./asset.module.css";
import { lazyPart } from "../../parts/missing-part.tsx";
import { serverNow } from "../../api/reachability.ts";
import { useDataUsage } from "./asset-queries.ts";

interface LedgerNoteProps {
  readonly ledger: DataUsage | undefined;
  readonly error: Error | null;
}

/** How old the device's own count is, and its budget. */
function LedgerNote({ ledger, error }: LedgerNoteProps): ReactNode {
  if (error) return <Text size="sm">What the device counted is not known: {toFailure(error).message}</Text>;
  if (!ledger) return <Text size="sm">Asking the device what it counted …</Text>;
  const { live, reported_at: at, budget } = ledger;
  return (
    <Text size="sm" component="div">
      {at === null ? (
        "The device has not said yet what it counted."
      ) : (
        <>
          The device's own count is {live ? "from now" : "its last answer"}, <Age at={at} />.
        </>
      )}
      {budget?.monthly_bytes != null &&
        ` Of its monthly budget of ${formatBytes(budget.monthly_bytes)} it has used ${formatBytes(budget.used_this_month_bytes)}.`}
    </Text>
  );
}

interface SimTotalProps {
  readonly type: SimType;
  readonly usage: UseQueryResult<SimUsage>;
  /** End of the period, in Unix seconds. */
  readonly to: number;
  /** Whether it says which SIM it is. */
  readonly isNamed: boolean;
}

/** What the operator of a SIM counted in all, until when that is final, and when it said so. */
function SimTotal({ type, usage, to, isNamed }: SimTotalProps): ReactNode {
  return (
    <Loaded query={usage}>
      {(answer) => (
        <Stack gap="xs">
          {answer.as_of !== undefined && isOutdated(answer, to) && (
            <Note kind="warn" title={`Figures of ${formatTime(answer.as_of)}: the operator has said nothing newer.`}>
              It may not be answering. What it said last is shown until it does.
            </Note>
          )}
          <Text size="sm" component="div">
            {isNamed && `${SIM_NAMES[type]}: `}
            {formatBytes(answer.usages.reduce((sum, { total }) => sum + total, 0))} by the operator's count, final up to{" "}
            {formatTime(answer.finalized_until)}.
            {answer.as_of !== undefined && (
              <>
                {" "}
                The operator was asked <Age at={answer.as_of} />.
              </>
            )}
          </Text>
        </Stack>
      )}
    </Loaded>
  );
}

interface ExceedingNoteProps {
  readonly difference: UsageDifference;
}

/** Days that are named; of more it says how many. */
const MAX_NAMED_DAYS = 5;

/** A warning where the agent's own count is the larger one. */
function ExceedingNote({ difference: { exceeding } }: ExceedingNoteProps): ReactNode {
  if (exceeding.length === 0) return null;
  return (
    <Note
      kind="warn"
      isAnnounced={false}
      title={`The agent alone counted more than the operator on ${countOf(exceeding.length)}.`}
    >
      {daysText(exceeding)}. The operator's count of {exceeding.length === 1 ? "that day" : "those days"} is final.
      Either the device had another network, such as Ethernet or Wi-Fi, or the operator did not count everything.
      Compare it with the bill.
    </Note>
  );
}

/** Why both counts differ, in words. */
function DifferenceText({ difference }: ExceedingNoteProps): ReactNode {
  const { days, exceedingYoung } = difference;
  if (days === 0) return null;
  return (
    <>
      <Text size="sm">{differenceText(difference)}</Text>
      {exceedingYoung > 0 && (
        <Text size="sm">
          On {countOf(exceedingYoung)} the agent is ahead of the operator, whose count is not final yet.
        </Text>
      )}
    </>
  );
}

/** Where the difference comes from. */
function differenceText({ days, sims, agent, others }: UsageDifference): string {
  const counts = `On the ${countOf(days)} that both counted, the operator counted ${formatBytes(sims)} and the agent ${formatBytes(agent)}`;
  if (sims <= agent) return `${counts}. The agent counts its own traffic only, on every network of the device.`;
  const known = others === undefined || others === 0 ? "" : ` (${formatBytes(others)} by the device's interfaces)`;
  return (
    `${counts}: ${formatBytes(sims - agent)} more. The agent counts its own traffic only. The rest is other traffic of the ` +
    `device, such as that of its apps${known}, and the overhead of the transport: packet headers, packets that are sent ` +
    "again, and rounding by the operator."
  );
}

function daysText(days: readonly UsageDay[]): string {
  const named = days.slice(-MAX_NAMED_DAYS).toReversed();
  const text = named.map(
    ({ at, sims, agent }) => `${utcDay(at)}: ${formatBytes(agent ?? 0)} against ${formatBytes(sims ?? 0)}`,
  );
  const more = days.length - named.length;
  return text.join("; ") + (more > 0 ? `; and ${more} more` : "");
}

function countOf(days: number): string {
  return days === 1 ? "1 day" : `${days} days`;
}

interface UsageTableProps {
  readonly days: readonly UsageDay[];
  /** The SIMs, in the order of `bySim`. */
  readonly types: readonly SimType[];
}

/** Usage by day of every source, the last day first. */
function UsageTable({ days, types }: UsageTableProps): ReactNode {
  return (
    <div className={classes.scroll}>
      <table className={classes.list}>
        <thead>
          <tr>
            <th scope="col">Day (UTC)</th>
            {types.map((type) => (
              <th key={type} scope="col" data-number>
                {SIM_NAMES[type]}
              </th>
            ))}
            <th scope="col" data-number>
              Agent
            </th>
            <th scope="col" data-number>
              Device's interfaces
            </th>
          </tr>
        </thead>
        <tbody>
          {days.toReversed().map(({ at, bySim, agent, device }) => (
            <tr key={at}>
              <td>{utcDay(at)}</td>
              {types.map((type, index) => (
                <td key={type} data-number>
                  {bytesOf(bySim[index] ?? null)}
                </td>
              ))}
              <td data-number>{bytesOf(agent)}</td>
              <td data-number>{bytesOf(device)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function bytesOf(bytes: number | null): ReactNode {
  return bytes === null ? "not known" : <Bytes value={bytes} />;
}

const UsageChart = lazyPart(async () => (await import("./usage-chart.tsx")).UsageChart);

interface PeriodUsageProps {
  readonly asset: Asset;
  readonly period: Period;
}

/** Usage in a period: what each operator counted, the chart, why the counts differ, and what the device says. */
export function PeriodUsage({ asset, period }: PeriodUsageProps): ReactNode {
  const [range] = useState(() => rangeOf(period, serverNow() / 1000));
  const supersim = useSimUsage(asset.uuid, "supersim", range, asset.supersim !== undefined);
  const prosim = useSimUsage(asset.uuid, "prosim", range, asset.prosim !== undefined);
  const queries: Readonly<Record<SimType, UseQueryResult<SimUsage>>> = { supersim, prosim };
  const types = SIM_TYPES.filter((type) => asset[type] !== undefined);
  // The device answers this one. What the operators counted is shown without waiting for it.
  const ledger = useDataUsage(asset.uuid, utcDay(range.from), utcDay(range.to - 1));
  const hasSuper = asset.supersim !== undefined;
  const hasPro = asset.prosim !== undefined;
  const days = useMemo(() => {
    const usages = [...(hasSuper ? [supersim.data?.usages] : []), ...(hasPro ? [prosim.data?.usages] : [])];
    return usageDays(range, usages, ledger.data?.days);
  }, [range, hasSuper, hasPro, supersim.data, prosim.data, ledger.data]);
  const answers = types.flatMap((type) => queries[type].data ?? []);
  const finalUntil = Math.min(...answers.map((answer) => answer.finalized_until));
  const isImported = answers.map(({ as_of: asOf }) => asOf === undefined);
  // Without one of the SIMs the sum would be too small.
  const difference = answers.length === types.length ? compareUsage(days, { finalUntil, isImported }) : undefined;
  const isWaiting = types.some((type) => queries[type].isPending);
  return (
    <Stack gap="xs">
      {types.map((type) => (
        <SimTotal key={type} type={type} usage={queries[type]} to={range.to} isNamed={types.length > 1} />
      ))}
      {difference && <ExceedingNote difference={difference} />}
      {!isWaiting && <Days days={days} types={types} isComplete={difference !== undefined} />}
      {difference && <DifferenceText difference={difference} />}
      <LedgerNote ledger={ledger.data} error={ledger.error} />
    </Stack>
  );
}

interface DaysProps {
  readonly days: readonly UsageDay[];
  readonly types: readonly SimType[];
  /** Whether the usage of all SIMs is known. */
  readonly isComplete: boolean;
}

function Days({ days, types, isComplete }: DaysProps): ReactNode {
  if (sourcesOf(days).length === 0)
    return isComplete && <Text size="sm">No usage has been counted for any day of this period.</Text>;
  return (
    <>
      <Suspense fallback={<Loading />}>
        <UsageChart days={days} />
      </Suspense>
      <details>
        <summary>As a table</summary>
        <UsageTable days={days} types={types} />
      </details>
    </>
  );
}
