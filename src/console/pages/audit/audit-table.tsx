import { Anchor, Code, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { Link } from "react-router";
import type { AuditEntry } from "../../api/types.ts";
import { Age } from "../../parts/age.tsx";
import { formatTime } from "../../parts/durations.ts";
import { SafeText } from "../../parts/safe-text.tsx";
import { State } from "../../parts/state.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { shownDetails } from "./audit-details.ts";

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
    renderCell: ({ at }) => (
      <>
        <Age at={at} />
        <Text size="xs" c="dimmed">
          {formatTime(at)}
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
