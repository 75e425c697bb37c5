import { Stack, Text } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import { type ReactNode, Suspense, useMemo, useState } from "react";
import type { Asset } from "../../api/types.ts";
import { lazyPart } from "../../parts/lazy-part.tsx";
import { serverNow } from "../../api/reachability.ts";
import { Loading } from "../../parts/loading.tsx";
import { SIM_TYPES, type SimType } from "../sims/sim-words.ts";
import { useDataUsage } from "./asset-queries.ts";
import { LedgerNote } from "./ledger-note.tsx";
import { type SimUsage, useSimUsage } from "./sim-queries.ts";
import { SimTotal } from "./sim-total.tsx";
import { sourcesOf, type UsageDay, usageDays, utcDay } from "./usage-days.ts";
import { compareUsage } from "./usage-difference.ts";
import { DifferenceText, ExceedingNote } from "./usage-notes.tsx";
import { type Period, rangeOf } from "./usage-period.ts";
import { UsageTable } from "./usage-table.tsx";

const UsageChart = lazyPart(async () => (await import("./usage-chart.tsx")).UsageChart);

interface Props {
  readonly asset: Asset;
  readonly period: Period;
}

/** Usage in a period: what each operator counted, the chart, why the counts differ, and what the device says. */
export function PeriodUsage({ asset, period }: Props): ReactNode {
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
