import { Button, Checkbox, Group, Stack, Text } from "@mantine/core";
import { type ReactNode, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { Link, useParams } from "react-router";
import { FailureNote } from "../../parts/failure-note.tsx";
import { Icon } from "../../parts/icon.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { useApps, useAsset } from "../asset/asset-queries.ts";
import { LinkState } from "../assets/link-state.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { logCounts } from "./log-ring.ts";
import { LogLines } from "./log-lines.tsx";
import { LogReader, type LogSnapshot } from "./log-reader.ts";

/** The log of an app as it is written. */
export function LogPage(): ReactNode {
  const { asset_id: assetId = "", app = "" } = useParams();
  return <Log key={`${assetId} ${app}`} assetId={assetId} app={app} />;
}

function Log({ assetId, app }: { readonly assetId: string; readonly app: string }): ReactNode {
  const reader = useMemo(() => new LogReader(assetId, app), [assetId, app]);
  const snapshot = useSyncExternalStore(reader.subscribe, reader.snapshot);
  const [isPaused, setPaused] = useState(false);
  const [isFollowing, setFollowing] = useState(true);
  const [hasTimes, setTimes] = useState(true);
  const asset = useAsset(assetId);
  const presence = useApps(assetId).data;
  useReading(reader, isPaused);
  return (
    <>
      <PageTitle
        title={`Log of ${app}`}
        actions={
          <>
            <Button
              variant="default"
              onClick={() => setPaused(!isPaused)}
              leftSection={<Icon name={isPaused ? "enrol" : "pause"} size={16} />}
            >
              {isPaused ? "Go on" : "Pause"}
            </Button>
          </>
        }
      />
      <Stack gap="sm">
        <Group gap="md">
          <Text size="sm" component="div">
            <Link to={`/assets/${assetId}`}>
              <SafeText text={asset.data?.name ?? assetId} max={200} />
            </Link>
          </Text>
          {presence && <LinkState connected={presence.reachable} lastSeen={presence.last_seen} />}
          <Checkbox
            label="Times"
            checked={hasTimes}
            onChange={({ currentTarget }) => setTimes(currentTarget.checked)}
          />
          <Checkbox
            label="Follow the end"
            checked={isFollowing}
            onChange={({ currentTarget }) => setFollowing(currentTarget.checked)}
          />
        </Group>
        {snapshot.failure && !snapshot.failure.isUnreachable && <FailureNote failure={snapshot.failure} />}
        {snapshot.failure?.isUnreachable && snapshot.failure.code !== "Unreachable" && (
          <FailureNote failure={snapshot.failure} />
        )}
        <LogLines
          ring={reader.ring}
          version={snapshot.version}
          isFollowing={isFollowing}
          onFollow={setFollowing}
          hasTimes={hasTimes}
        />
        <Text size="xs" c="dimmed" role="status">
          {STATES[snapshot.state]} {logCounts(reader.ring)}.
        </Text>
      </Stack>
    </>
  );
}

const STATES: Readonly<Record<LogSnapshot["state"], string>> = {
  reading: "Live: new lines appear by themselves.",
  waiting: "Waits for the device; goes on by itself.",
  paused: "Paused: nothing is read from the device.",
  ended: "Not followed.",
};

/** Reads while the page is open and visible. */
function useReading(reader: LogReader, isPaused: boolean): void {
  useEffect(() => {
    const controller = new AbortController();
    void reader.run(controller.signal);
    return () => controller.abort();
  }, [reader]);
  useEffect(() => {
    const update = (): void => reader.setPaused(isPaused || document.hidden);
    update();
    document.addEventListener("visibilitychange", update);
    return () => document.removeEventListener("visibilitychange", update);
  }, [reader, isPaused]);
}
