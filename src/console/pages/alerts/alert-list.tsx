import { Anchor, Button, Group, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link } from "react-router";
import type { Alert } from "../../../protocol/api-types.ts";
import { call } from "../../api/client.ts";
import { toFailure } from "../../api/failure.ts";
import { KEYS } from "../../api/keys.ts";
import { usePermission } from "../../api/session.ts";
import { Age } from "../../parts/age.tsx";
import { conditionTitle, formatSubjects, SEVERITIES, subjectPath } from "../../parts/alert-words.ts";
import { formatDuration } from "../../parts/durations.ts";
import { FailureNote } from "../../parts/failure-note.tsx";
import { PendingButton } from "../../parts/form.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { State } from "../../parts/state.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { type AlertGroup, apart, groupAlerts } from "./alert-groups.ts";
import classes from "./alerts.module.css";
import { type Silenced, SilenceDialog } from "./silence-dialog.tsx";

/** Subjects that a group names at first. */
const NAMED = 3;

/** Acknowledges a group by its id, or alert by alert where no message tells of them. */
async function acknowledge({ id, alerts }: Pick<AlertGroup, "id" | "alerts">): Promise<void> {
  if (id !== undefined) {
    await call("POST /v1/alert-groups/{group_id}/acknowledge", { path: { group_id: id } });
    return;
  }
  for (const alert of alerts.filter(isUnacknowledged))
    await call("POST /v1/alerts/{alert_id}/acknowledge", { path: { alert_id: alert.id } });
}

function isUnacknowledged({ state, acknowledged_at: at }: Alert): boolean {
  return state === "firing" && at === null;
}

interface AcknowledgeProps {
  readonly group: Pick<AlertGroup, "id" | "alerts">;
  readonly label?: ReactNode;
  readonly size?: "xs" | "compact-xs" | "sm";
  readonly variant?: "default" | "filled";
}

/** Says that the person looks after the alerts; nothing where that is said, or may not be. */
export function AcknowledgeButton({
  group,
  label = "Acknowledge",
  size = "xs",
  variant = "default",
}: AcknowledgeProps): ReactNode {
  const mayManage = usePermission("alerts.manage");
  const client = useQueryClient();
  const mutation = useMutation({
    mutationFn: () => acknowledge(group),
    onSettled: () => client.invalidateQueries({ queryKey: KEYS.alerts }),
  });
  if (!mayManage || !group.alerts.some(isUnacknowledged)) return null;
  return (
    <div>
      <PendingButton size={size} variant={variant} loading={mutation.isPending} onClick={() => mutation.mutate()}>
        {label}
      </PendingButton>
      {mutation.error && <FailureNote failure={toFailure(mutation.error)} />}
    </div>
  );
}

function What({ group }: { readonly group: AlertGroup }): ReactNode {
  const { label, kind, icon } = SEVERITIES[group.severity];
  const [alert] = group.alerts;
  const usual = group.alerts.length === 1 ? alert?.usual_pause_s : null;
  return (
    <>
      <State kind={kind} icon={icon}>
        <strong>{conditionTitle(group.condition)}</strong>
      </State>
      <Text size="xs" c="dimmed" component="div">
        {label}
        {usual !== null && usual !== undefined && ` · it is usually gone for ${formatDuration(usual)} at most`}
      </Text>
    </>
  );
}

function Subject({ alert }: { readonly alert: Alert }): ReactNode {
  const path = subjectPath(alert);
  const name = <SafeText text={alert.subject.name} max={120} />;
  return (
    <Anchor component={Link} to={path} inherit underline="always">
      {name}
    </Anchor>
  );
}

/** The first names of a group, and all of them with what there is to do about each on request. */
function Subjects({ group }: { readonly group: AlertGroup }): ReactNode {
  const { alerts, condition } = group;
  const [isOpen, setOpen] = useState(false);
  const [only] = alerts;
  if (alerts.length === 1 && only) return <Subject alert={only} />;
  const shown = isOpen ? alerts : alerts.slice(0, NAMED);
  return (
    <>
      <Text size="sm">{formatSubjects(condition, alerts.length)}</Text>
      <ul className={classes.subjects} data-open={isOpen}>
        {shown.map((alert) => (
          <li key={alert.id}>
            <Subject alert={alert} />
            {isOpen && (
              <AcknowledgeButton
                size="compact-xs"
                group={{ id: undefined, alerts: [alert] }}
                label={
                  <>
                    Acknowledge<span className="visually-hidden"> {alert.subject.name}</span>
                  </>
                }
              />
            )}
          </li>
        ))}
      </ul>
      <Button size="compact-xs" variant="transparent" px={0} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? "Show fewer" : alerts.length > NAMED ? `Show all ${alerts.length.toLocaleString("en")}` : "Show each"}
      </Button>
    </>
  );
}

function Acknowledged({ alerts }: { readonly alerts: readonly Alert[] }): ReactNode {
  const last = alerts
    .filter(({ acknowledged_at: at }) => at !== null)
    .toSorted((a, b) => (b.acknowledged_at ?? 0) - (a.acknowledged_at ?? 0));
  const [newest] = last;
  if (!newest) return "no";
  return (
    <>
      {last.length < alerts.length && `${last.length} of ${alerts.length}, `}
      by <SafeText text={newest.acknowledged_by ?? "–"} max={80} />
      {", "}
      <Age at={newest.acknowledged_at} />
    </>
  );
}

const firstSince = ({ alerts }: AlertGroup): number => Math.min(...alerts.map(({ since }) => since));
const lastEnd = ({ alerts }: AlertGroup): number => Math.max(...alerts.map(({ resolved_at: at }) => at ?? 0));

const WHAT: Column<AlertGroup> = { header: "Condition", renderCell: (group) => <What group={group} /> };
const OF: Column<AlertGroup> = { header: "Affected", renderCell: (group) => <Subjects group={group} /> };
const SINCE: Column<AlertGroup> = {
  header: "Since",
  isNarrow: true,
  renderCell: (group) => <Age at={firstSince(group)} />,
};
const ACKNOWLEDGED: Column<AlertGroup> = {
  header: "Acknowledged",
  renderCell: ({ alerts }) => <Acknowledged alerts={alerts} />,
};
const OVER: Column<AlertGroup> = {
  header: "Resolved",
  isNarrow: true,
  renderCell: (group) => (
    <>
      <Age at={lastEnd(group)} />
      <Text size="xs" c="dimmed">
        after {formatDuration(lastEnd(group) - firstSince(group))}
      </Text>
    </>
  ),
};

const WHY: Column<AlertGroup> = {
  header: "See why",
  hidesHeader: true,
  isNarrow: true,
  renderCell: ({ alerts }) => {
    const path = alerts[0] && subjectPath(alerts[0]);
    if (path?.includes("?tab=") !== true) return null;
    return (
      <Anchor component={Link} to={path} inherit underline="always">
        See why
      </Anchor>
    );
  },
};

/** A group of one asset is silenced for that alone, unless the person says otherwise. */
function silencedOf({ condition, alerts: [first, ...others] }: AlertGroup): Silenced {
  return { condition, asset: others.length === 0 && first?.subject.kind === "asset" ? first.subject : undefined };
}

interface Props {
  readonly label: string;
  readonly alerts: readonly Alert[];
  /** Whether all are of one asset, on whose page they are: one is acknowledged without those of others. */
  readonly isOfAsset?: boolean;
  /** Whether a button of the page acknowledges all of them. */
  readonly isAcknowledgedAbove?: boolean;
  /** Groups that are shown at the most. */
  readonly max?: number;
  /** Whether they are over. */
  readonly isOver?: boolean;
}

/** Alerts in their groups, with what a person may do about them. */
export function AlertTable({
  label,
  alerts,
  isOfAsset = false,
  isAcknowledgedAbove = false,
  isOver = false,
  max = Infinity,
}: Props): ReactNode {
  const mayManage = usePermission("alerts.manage");
  const [silenced, setSilenced] = useState<Silenced>();
  const actions: Column<AlertGroup> = {
    header: "Actions",
    hidesHeader: true,
    isNarrow: true,
    renderCell: (group) => (
      <Group gap="xs" justify="end" wrap="nowrap" className={classes.actions}>
        {!isAcknowledgedAbove && (
          <AcknowledgeButton
            group={group}
            label={
              <>
                Acknowledge
                <span className="visually-hidden">
                  {" "}
                  {conditionTitle(group.condition)}, {formatSubjects(group.condition, group.alerts.length)}
                </span>
              </>
            }
          />
        )}
        <Button size="xs" variant="default" onClick={() => setSilenced(silencedOf(group))}>
          Silence<span className="visually-hidden"> {conditionTitle(group.condition)}</span>
        </Button>
      </Group>
    ),
  };
  const groups = groupAlerts(isOfAsset ? apart(alerts) : alerts).slice(0, max);
  const ofState = isOver ? [OVER, ACKNOWLEDGED] : [ACKNOWLEDGED, ...(mayManage ? [actions] : [])];
  return (
    <>
      <Table
        label={label}
        columns={[WHAT, isOfAsset ? WHY : OF, SINCE, ...ofState]}
        rows={groups}
        keyOf={({ key }) => key}
      />
      <SilenceDialog silenced={silenced} onClose={() => setSilenced(undefined)} />
    </>
  );
}
