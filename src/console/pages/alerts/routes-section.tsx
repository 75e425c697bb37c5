import { Button, Group, Title } from "@mantine/core";
import { type ReactNode, useState } from "react";
import type { AlertRouteBody } from "../../../protocol/api-types.ts";
import { Confirm } from "../../parts/dialog.tsx";
import { Empty } from "../../parts/empty.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import classes from "./alerts.module.css";
import { RouteDialog } from "./route-dialog.tsx";
import { describeRoute, describeTimes } from "./route-fields.ts";
import { type ReadSettings, useChangeSettings, without } from "./settings-data.ts";

type Row = AlertRouteBody & { readonly name: string };

const COLUMNS: readonly Column<Row>[] = [
  { header: "Route", renderCell: ({ name }) => <strong>{name}</strong> },
  { header: "Tells of", renderCell: (route) => <SafeText text={describeRoute(route)} max={400} /> },
  { header: "To", renderCell: ({ channels }) => channels.join(", ") },
  { header: "When", renderCell: (route) => describeTimes(route).join("; ") || "at once" },
];

/** Which alerts are told to which channels. */
export function RoutesSection({ read }: { readonly read: ReadSettings }): ReactNode {
  const [edited, setEdited] = useState<{ readonly name: string | undefined }>();
  const [removed, setRemoved] = useState<string>();
  const remove = useChangeSettings(read);
  const { routes, channels } = read.settings;
  const hasChannels = Object.keys(channels).length > 0;
  const actions: Column<Row> = {
    header: "Actions",
    hidesHeader: true,
    isNarrow: true,
    renderCell: ({ name }) => (
      <Group gap="xs" justify="end" align="start" wrap="nowrap" className={classes.actions}>
        <Button size="xs" variant="default" onClick={() => setEdited({ name })}>
          Change<span className="visually-hidden"> {name}</span>
        </Button>
        <Button size="xs" variant="default" onClick={() => setRemoved(name)}>
          Remove<span className="visually-hidden"> {name}</span>
        </Button>
      </Group>
    ),
  };
  const close = (): void => {
    remove.reset();
    setRemoved(undefined);
  };
  const rows = Object.entries(routes).map(([name, route]): Row => Object.assign({ name }, route));
  return (
    <section aria-labelledby="routes">
      <Group justify="space-between" mb="xs">
        <Title order={2} id="routes">
          Routes
        </Title>
        {hasChannels && (
          <Button size="xs" onClick={() => setEdited({ name: undefined })}>
            Add a route
          </Button>
        )}
      </Group>
      {rows.length === 0 ? (
        <Empty title="There is no route yet: no person is notified.">
          A route says which alerts go to which channels.{!hasChannels && " Add a channel first."}
        </Empty>
      ) : (
        <Table label="Routes" columns={[...COLUMNS, actions]} rows={rows} keyOf={({ name }) => name} />
      )}
      {edited && <RouteDialog read={read} name={edited.name} onClose={() => setEdited(undefined)} />}
      <Confirm
        isOpen={removed !== undefined}
        title={`Remove the route ${removed ?? ""}?`}
        action="Remove"
        isPending={remove.isPending}
        error={remove.error}
        onClose={close}
        onConfirm={() =>
          remove.mutate((now) => ({ ...now, routes: without(now.routes, removed ?? "") }), { onSuccess: close })
        }
      >
        Nothing more is told by it, nor that what it has told of is resolved.
      </Confirm>
    </section>
  );
}
