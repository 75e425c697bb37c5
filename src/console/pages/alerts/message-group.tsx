import { Box, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { Link } from "react-router";
import type { Alert } from "../../../protocol/api-types.ts";
import { usePermission } from "../../api/session.ts";
import { conditionTitle, formatSubjects } from "../../parts/alert-words.ts";
import { Empty } from "../../parts/empty.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { Note } from "../../parts/note.tsx";
import { AcknowledgeButton, AlertTable } from "./alert-list.tsx";
import { useAlerts } from "./use-alerts.ts";

/** What a message is about that has led here by its link. To look at it acknowledges nothing: the button does. */
export function MessageGroup({ groupId }: { readonly groupId: string }): ReactNode {
  const firing = useAlerts({ state: "firing", group: groupId });
  const over = useAlerts({ state: "resolved", group: groupId });
  return (
    <Stack gap="md" align="stretch">
      <Loaded query={firing}>
        {({ pages }) => (
          <Loaded query={over}>
            {({ pages: ofOver }) => (
              <Members
                groupId={groupId}
                firing={pages.flatMap(({ alerts }) => alerts)}
                over={ofOver.flatMap(({ alerts }) => alerts)}
              />
            )}
          </Loaded>
        )}
      </Loaded>
      <div>
        <MoreButton query={firing.hasNextPage ? firing : over} />
      </div>
      <Link to="/alerts">All open alerts</Link>
    </Stack>
  );
}

interface Props {
  readonly groupId: string;
  readonly firing: readonly Alert[];
  readonly over: readonly Alert[];
}

function Members({ groupId, firing, over }: Props): ReactNode {
  const [first] = [...firing, ...over];
  if (!first)
    return (
      <Empty title="Nothing of this message is on record.">
        Its alerts were removed since, or belong to another account than the one you are signed in to.
      </Empty>
    );
  return (
    <>
      {firing.length === 0 ? (
        <Note kind="good" title="All of its alerts are resolved." isAnnounced={false} />
      ) : (
        <Open groupId={groupId} alerts={firing} />
      )}
      {over.length > 0 && (
        <section aria-labelledby="resolved">
          <Title order={2} id="resolved" mb="xs">
            Resolved
          </Title>
          <AlertTable label="Resolved" alerts={over} isOver />
        </section>
      )}
    </>
  );
}

function Open({ groupId, alerts }: { readonly groupId: string; readonly alerts: readonly Alert[] }): ReactNode {
  const mayManage = usePermission("alerts.manage");
  const [first] = alerts;
  if (!first) return null;
  const what = `${conditionTitle(first.condition)}: ${formatSubjects(first.condition, alerts.length)}`;
  const isNew = alerts.some(({ acknowledged_at: at }) => at === null);
  return (
    <section aria-labelledby="message">
      <Title order={2} id="message" mb="xs">
        {what}
      </Title>
      <Text size="sm" mb="xs">
        {isNew
          ? "An acknowledgement says that a person looks after these alerts, and ends the repetition of their messages."
          : "These alerts are acknowledged. That they are resolved is still told."}
        {isNew && !mayManage && " Your role may look at alerts; operators and admins acknowledge them."}
      </Text>
      <Box mb="md">
        <AcknowledgeButton group={{ id: groupId, alerts }} label="Acknowledge all" size="sm" variant="filled" />
      </Box>
      <AlertTable label={what} alerts={alerts} isAcknowledgedAbove />
    </section>
  );
}
