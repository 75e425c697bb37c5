import { Button, Group, Text, Title } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { AlertChannel, AlertChannelState } from "../../../protocol/api-types.ts";
import { call } from "../../api/client.ts";
import { toFailure } from "../../api/failure.ts";
import { KEYS } from "../../api/keys.ts";
import { Age } from "../../parts/age.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { Empty } from "../../parts/empty.tsx";
import { FailureNote } from "../../parts/failure-note.tsx";
import { PendingButton } from "../../parts/form.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { State } from "../../parts/state.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import classes from "./alerts.module.css";
import { ChannelDialog } from "./channel-dialog.tsx";
import { CHANNEL_KINDS } from "./channel-fields.ts";
import { type ReadSettings, useChangeSettings, without } from "./settings-data.ts";

type Row = AlertChannel & { readonly name: string; readonly state: AlertChannelState | undefined };

function ChannelState({ state }: Pick<Row, "state">): ReactNode {
  if (!state) return "–";
  if (state.disabled_at !== null)
    return (
      <>
        <State kind="bad" icon="cross">
          given up <Age at={state.disabled_at} />
        </State>
        <Text size="xs" c="dimmed">
          A test that arrives has it used again.
        </Text>
      </>
    );
  if (state.failing_since !== null)
    return (
      <State kind="warn" icon="alert">
        failing since <Age at={state.failing_since} />
      </State>
    );
  return (
    <State kind="good" icon="check">
      in use
    </State>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  { header: "Channel", renderCell: ({ name }) => <strong>{name}</strong> },
  { header: "Kind", isNarrow: true, renderCell: ({ kind }) => CHANNEL_KINDS[kind].label },
  { header: "Address", renderCell: ({ state }) => <SafeText text={state?.address ?? "–"} max={200} /> },
  { header: "State", renderCell: ({ state }) => <ChannelState state={state} /> },
];

/** Where messages go, each channel with a test. */
export function ChannelsSection({ read }: { readonly read: ReadSettings }): ReactNode {
  const [edited, setEdited] = useState<{ readonly name: string | undefined }>();
  const [removed, setRemoved] = useState<string>();
  const { channels, channel_states: states } = read.settings;
  const rows = Object.entries(channels).map(([name, channel]): Row =>
    Object.assign({ name, state: states[name] }, channel),
  );
  const actions: Column<Row> = {
    header: "Actions",
    hidesHeader: true,
    isNarrow: true,
    renderCell: ({ name }) => (
      <Group gap="xs" justify="end" align="start" wrap="nowrap" className={classes.actions}>
        <TestButton name={name} />
        <Button size="xs" variant="default" onClick={() => setEdited({ name })}>
          Change<span className="visually-hidden"> {name}</span>
        </Button>
        <Button size="xs" variant="default" onClick={() => setRemoved(name)}>
          Remove<span className="visually-hidden"> {name}</span>
        </Button>
      </Group>
    ),
  };
  return (
    <section aria-labelledby="channels">
      <Group justify="space-between" mb="xs">
        <Title order={2} id="channels">
          Channels
        </Title>
        <Button size="xs" onClick={() => setEdited({ name: undefined })}>
          Add a channel
        </Button>
      </Group>
      {rows.length === 0 ? (
        <Empty title="There is no channel yet.">
          A channel is where messages go: mail, Slack, Teams, Mattermost, PagerDuty, ntfy, or a webhook of yours.
        </Empty>
      ) : (
        <Table label="Channels" columns={[...COLUMNS, actions]} rows={rows} keyOf={({ name }) => name} />
      )}
      {edited && <ChannelDialog read={read} name={edited.name} onClose={() => setEdited(undefined)} />}
      <RemoveChannel read={read} name={removed} onClose={() => setRemoved(undefined)} />
    </section>
  );
}

/** Sends a message, and shows what the other side answered. */
function TestButton({ name }: { readonly name: string }): ReactNode {
  const client = useQueryClient();
  const test = useMutation({
    mutationFn: () => call("POST /v1/alert-channels/{name}/test", { path: { name } }),
    onSettled: () =>
      Promise.all([KEYS.alertSettings, KEYS.alertDeliveries].map((queryKey) => client.invalidateQueries({ queryKey }))),
  });
  return (
    <div>
      <PendingButton size="xs" variant="default" loading={test.isPending} onClick={() => test.mutate()}>
        Test<span className="visually-hidden"> {name}</span>
      </PendingButton>
      <div role="status" className={classes.answer}>
        {test.data && !test.isPending && (
          <State kind={test.data.delivered ? "good" : "bad"} icon={test.data.delivered ? "check" : "cross"}>
            {test.data.delivered ? "arrived" : "did not arrive"}: <SafeText text={test.data.answer} max={200} />
          </State>
        )}
      </div>
      {test.error && <FailureNote failure={toFailure(test.error)} />}
    </div>
  );
}

interface RemoveProps {
  readonly read: ReadSettings;
  readonly name: string | undefined;
  readonly onClose: () => void;
}

function RemoveChannel({ read, name = "", onClose }: RemoveProps): ReactNode {
  const remove = useChangeSettings(read);
  const routes = Object.entries(read.settings.routes).filter(([, { channels }]) => channels.includes(name));
  const alone = routes.filter(([, { channels }]) => channels.length === 1).map(([route]) => route);
  return (
    <Confirm
      isOpen={name !== ""}
      title={`Remove the channel ${name}?`}
      action="Remove"
      isPending={remove.isPending}
      error={remove.error}
      onClose={() => {
        remove.reset();
        onClose();
      }}
      onConfirm={() =>
        remove.mutate(
          (now) => ({
            ...now,
            channels: without(now.channels, name),
            // A route needs a channel.
            routes: Object.fromEntries(
              Object.entries(now.routes)
                .map(
                  ([route, body]) =>
                    [route, { ...body, channels: body.channels.filter((each) => each !== name) }] as const,
                )
                .filter(([, { channels }]) => channels.length > 0),
            ),
          }),
          { onSuccess: onClose },
        )
      }
    >
      What waits for it is not sent.
      {routes.length > 0 && ` ${routes.length === 1 ? "A route leads" : `${routes.length} routes lead`} to it.`}
      {alone.length > 0 && ` Removed with it, since they lead nowhere else: ${alone.join(", ")}.`}
    </Confirm>
  );
}
