import { Stack, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { Link } from "react-router";
import { call } from "../../api/client.ts";
import { toFailure } from "../../api/failure.ts";
import { KEYS } from "../../api/keys.ts";
import { usePermission } from "../../api/session.ts";
import { onAccountEvent } from "../../live/events.ts";
import { formatTime } from "../../parts/durations.ts";
import { Age } from "../../parts/age.tsx";
import { Empty } from "../../parts/empty.tsx";
import { FailureNote } from "../../parts/failure-note.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Loading } from "../../parts/loaded.tsx";
import { PendingButton } from "../../parts/form.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import classes from "./asset.module.css";
import { type TabProps, useDeployments } from "./asset-queries.ts";
import {
  type AssetHistoryItem,
  isRequest,
  mergeTimeLine,
  ofAuditEntry,
  ofDeployment,
  ofEvent,
  requesters,
} from "./history-items.ts";

/** One time line of everything that happened to the asset, from all that is known of it. */
export function HistoryTab({ asset }: TabProps): ReactNode {
  const mayReadAudit = usePermission("audit.read");
  const deployments = useDeployments(asset.uuid);
  const audit = useAudit(asset.uuid, mayReadAudit);
  const seen = useSeen(asset.uuid);
  const queries = [deployments, audit];
  const registered: AssetHistoryItem = {
    key: "registered",
    at: asset.created_at,
    title: "asset registered",
    text: asset.serial_number,
    kind: "none",
  };
  const entries = audit.data?.pages.flatMap((page) => page.entries) ?? [];
  const actors = requesters(entries);
  const list = deployments.data?.pages.flatMap((page) => page.deployments) ?? [];
  const line = mergeTimeLine<AssetHistoryItem>([
    {
      items: list.map((deployment) => ofDeployment(deployment, actors.get(deployment.deployment_id))),
      hasMore: deployments.hasNextPage || deployments.isPending,
    },
    {
      items: entries.filter((entry) => !isRequest(entry)).map(ofAuditEntry),
      hasMore: mayReadAudit && (audit.hasNextPage || audit.isPending),
    },
    { items: seen, hasMore: false },
    // The audit log tells it with who did it.
    { items: mayReadAudit ? [] : [registered], hasMore: false },
  ]);
  const error = deployments.error ?? audit.error;
  return (
    <Stack gap="sm">
      {!mayReadAudit && (
        <Text size="sm" c="dimmed">
          Who changed what is in the audit log, which your role does not show.
        </Text>
      )}
      {error && <FailureNote failure={toFailure(error)} />}
      {line.items.length === 0 && line.hasMore && !error && <Loading />}
      {line.items.length === 0 && !line.hasMore && <Empty title="Nothing has happened yet.">It is listed here.</Empty>}
      <ol className={classes.events}>
        {line.items.map((item) => (
          <li key={item.key} className={classes.event}>
            <time dateTime={new Date(item.at * 1000).toISOString()} title={formatTime(item.at)}>
              <Age at={item.at} />
            </time>
            <ItemText item={item} assetId={asset.uuid} />
          </li>
        ))}
      </ol>
      {line.hasMore && line.items.length > 0 && (
        <PendingButton
          variant="default"
          loading={queries.some(({ isFetchingNextPage }) => isFetchingNextPage)}
          onClick={() => line.loadNext.forEach((index) => void queries[index]?.fetchNextPage())}
        >
          Show what was before
        </PendingButton>
      )}
    </Stack>
  );
}

function ItemText({ item, assetId }: { readonly item: AssetHistoryItem; readonly assetId: string }): ReactNode {
  const title = <SafeText text={item.title} max={300} />;
  return (
    <div>
      <span className={classes.state} data-kind={item.kind}>
        <Icon name={ICONS[item.kind]} size={16} />
        {item.deploymentId === undefined ? (
          title
        ) : (
          <Link to={`/assets/${assetId}/deployments/${item.deploymentId}`}>{title}</Link>
        )}
      </span>
      {item.actor !== undefined && (
        <>
          {" by "}
          <SafeText text={item.actor} max={200} />
        </>
      )}
      {item.text !== "" && (
        <Text size="sm" c="dimmed" component="div">
          <SafeText text={item.text} max={500} />
        </Text>
      )}
    </div>
  );
}

const ICONS = { good: "check", warn: "clock", bad: "cross", none: "audit" } as const;

function useAudit(id: string, isEnabled: boolean) {
  return useInfiniteQuery({
    queryKey: [...KEYS.asset(id), "audit"],
    queryFn: ({ pageParam, signal }) =>
      call("GET /v1/audit", { query: { asset: id, cursor: pageParam, limit: "50" }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    enabled: isEnabled,
  });
}

/** Connections and their ends while the page was open: they are kept nowhere else. */
function useSeen(id: string): readonly AssetHistoryItem[] {
  const [seen, setSeen] = useState<readonly AssetHistoryItem[]>([]);
  useEffect(() => {
    return onAccountEvent((event) => {
      const item = ofEvent(event, id);
      if (item) setSeen((before) => [item, ...before].slice(0, MAX_SEEN));
    });
  }, [id]);
  return seen;
}

const MAX_SEEN = 200;
