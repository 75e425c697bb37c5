import { type ReactNode, useMemo, useState } from "react";
import { Link, useSearchParams } from "react-router";
import { Anchor, Button, Code, NativeSelect, Text, TextInput } from "@mantine/core";
import classes from "./audit-filters.module.css";
import { ACTION_GROUPS, shownDetails } from "./audit-words.ts";
import type { AuditEntry } from "../../../protocol/api-types.ts";
import { Age } from "../../parts/age.tsx";
import { formatTime } from "../../parts/durations.ts";
import { SafeText } from "../../parts/safe-text.tsx";
import { State } from "../../parts/state.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { useInfiniteQuery } from "@tanstack/react-query";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { Empty } from "../../parts/empty.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { PageTitle } from "../../parts/page-title.tsx";

const TEXT_FILTERS = ["actor", "action", "asset", "outcome"] as const;
const TIME_FILTERS = ["since", "until"] as const;
export type FilterName = (typeof TEXT_FILTERS)[number] | (typeof TIME_FILTERS)[number];

interface Filters {
  /** As in the page's address: times are local, `2026-11-22T17:10`. */
  readonly shown: Readonly<Partial<Record<FilterName, string>>>;
  /** As the API takes them: times are Unix seconds. */
  readonly query: Readonly<Partial<Record<FilterName, string>>>;
  readonly isFiltered: boolean;
  readonly set: (change: Readonly<Partial<Record<FilterName, string>>>) => void;
  readonly clear: () => void;
}

/** The filters of the audit log, which are in the page's address. */
export function useFilters(): Filters {
  const [parameters, setParameters] = useSearchParams();
  return useMemo(() => {
    const names = [...TEXT_FILTERS, ...TIME_FILTERS].filter((name) => (parameters.get(name) ?? "") !== "");
    const shown = Object.fromEntries(names.map((name) => [name, parameters.get(name) ?? ""]));
    const query = Object.fromEntries(names.map((name) => [name, toQuery(name, shown[name] ?? "")] as const));
    return {
      shown,
      query,
      isFiltered: names.length > 0,
      set: (change) => {
        const all = Object.entries({ ...shown, ...change }).filter(([, value]) => value !== "");
        setParameters(all, { replace: true });
      },
      clear: () => setParameters({}, { replace: true }),
    };
  }, [parameters, setParameters]);
}

function toQuery(name: FilterName, value: string): string | undefined {
  if (name !== "since" && name !== "until") return value;
  const ms = new Date(value).getTime();
  return Number.isNaN(ms) ? undefined : String(Math.floor(ms / 1000));
}

const ACTIONS = [{ value: "", label: "all" }, ...ACTION_GROUPS];
const OUTCOMES = [
  { value: "", label: "all" },
  { value: "ok", label: "succeeded" },
  { value: "failed", label: "refused or failed" },
];

export function AuditFilters(): ReactNode {
  const { shown, set, clear, isFiltered } = useFilters();
  const own = shown.action !== undefined && !ACTIONS.some(({ value }) => value === shown.action);
  return (
    <search className={classes.filters} aria-label="Filters">
      <NativeSelect
        size="xs"
        label="What"
        data={own ? [...ACTIONS, shown.action ?? ""] : ACTIONS}
        value={shown.action ?? ""}
        onChange={({ currentTarget }) => set({ action: currentTarget.value })}
      />
      <NativeSelect
        size="xs"
        label="Outcome"
        data={OUTCOMES}
        value={shown.outcome ?? ""}
        onChange={({ currentTarget }) => set({ outcome: currentTarget.value })}
      />
      <TextFilter key={`asset ${shown.asset ?? ""}`} label="Asset" name="asset" />
      <TextFilter key={`actor ${shown.actor ?? ""}`} label="Who (id)" name="actor" />
      <TimeFilter label="From" name="since" />
      <TimeFilter label="Until" name="until" />
      {isFiltered && (
        <Button size="xs" variant="default" onClick={clear}>
          Clear
        </Button>
      )}
    </search>
  );
}

interface FilterProps {
  readonly label: string;
  readonly name: FilterName;
}

/** Takes effect with Enter, or when the field is left. */
function TextFilter({ label, name }: FilterProps): ReactNode {
  const { shown, set } = useFilters();
  const [text, setText] = useState(shown[name] ?? "");
  const apply = (): void => {
    if (text !== (shown[name] ?? "")) set({ [name]: text.trim() });
  };
  return (
    <TextInput
      size="xs"
      label={label}
      value={text}
      onChange={({ currentTarget }) => setText(currentTarget.value)}
      onBlur={apply}
      onKeyDown={({ key }) => {
        if (key === "Enter") apply();
      }}
    />
  );
}

function TimeFilter({ label, name }: FilterProps): ReactNode {
  const { shown, set } = useFilters();
  return (
    <TextInput
      size="xs"
      type="datetime-local"
      label={label}
      value={shown[name] ?? ""}
      onChange={({ currentTarget }) => set({ [name]: currentTarget.value })}
    />
  );
}

const ACTOR_KINDS: Readonly<Record<AuditEntry["actor"]["kind"], string>> = {
  user: "person",
  key: "API key",
  command_line: "command line of the server",
  device: "device",
  service: "the service",
};

const COLUMNS: readonly Column<AuditEntry>[] = [
  {
    header: "When",
    isNarrow: true,
    renderCell: ({ timestamp }) => (
      <>
        <Age at={timestamp} />
        <Text size="xs" c="dimmed">
          {formatTime(timestamp)}
        </Text>
      </>
    ),
  },
  {
    header: "Who",
    renderCell: ({ actor, source }) => (
      <>
        <Anchor component={Link} to={`/audit?actor=${encodeURIComponent(actor.id)}`} inherit underline="always">
          <SafeText text={actor.name ?? actor.id} max={200} />
        </Anchor>
        <Text size="xs" c="dimmed" component="div">
          {ACTOR_KINDS[actor.kind]}
          {source !== null && (
            <>
              {" from "}
              <SafeText text={source} max={64} />
            </>
          )}
        </Text>
      </>
    ),
  },
  { header: "What", renderCell: ({ action }) => <Code>{action}</Code>, isNarrow: true },
  { header: "On what", renderCell: (entry) => <Subject entry={entry} /> },
  {
    header: "Outcome",
    isNarrow: true,
    renderCell: ({ outcome }) =>
      outcome === "ok" ? (
        <State kind="good" icon="check">
          ok
        </State>
      ) : (
        <State kind="bad" icon="cross">
          {outcome}
        </State>
      ),
  },
  { header: "Details", renderCell: ({ details }) => <Details details={details} /> },
];

export function AuditTable({ entries }: { readonly entries: readonly AuditEntry[] }): ReactNode {
  return <Table label="Audit log" columns={COLUMNS} rows={entries} keyOf={({ id }) => id} />;
}

function Subject({ entry }: { readonly entry: AuditEntry }): ReactNode {
  const { asset_id, app, subject } = entry;
  if (asset_id === null && app === null && subject === null) return "the account";
  return (
    <>
      {app !== null && (
        <div>
          app <SafeText text={app} max={100} />
        </div>
      )}
      {subject !== null && (
        <div>
          {subject.kind} <SafeText text={subject.name ?? subject.id} max={200} />
        </div>
      )}
      {asset_id !== null && (
        <Text size={app === null && subject === null ? "sm" : "xs"} component="div">
          asset{" "}
          <Anchor component={Link} to={`/audit?asset=${encodeURIComponent(asset_id)}`} inherit underline="always">
            {asset_id}
          </Anchor>
        </Text>
      )}
    </>
  );
}

function Details({ details }: Pick<AuditEntry, "details">): ReactNode {
  return shownDetails(details).map(([name, text]) => (
    <Text key={name} size="xs" component="div">
      {name}: <SafeText text={text} max={300} />
    </Text>
  ));
}

/** Who did what, newest first. */
export function AuditPage(): ReactNode {
  const { query, isFiltered } = useFilters();
  const audit = useInfiniteQuery({
    queryKey: [...KEYS.audit, query],
    queryFn: ({ signal, pageParam }) => call("GET /v1/audit", { signal, query: { ...query, cursor: pageParam } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
  return (
    <>
      <PageTitle title="Audit log" />
      <AuditFilters />
      <Loaded query={audit}>
        {({ pages }) => {
          const entries = pages.flatMap((page) => page.entries);
          if (entries.length > 0) return <AuditTable entries={entries} />;
          return isFiltered ? (
            <Empty title="No entry fits.">Change or clear the filters. Entries are kept for 400 days.</Empty>
          ) : (
            <Empty title="Nothing has been done yet.">
              Each change in the account is written here, with who made it.
            </Empty>
          );
        }}
      </Loaded>
      <MoreButton query={audit} />
    </>
  );
}
