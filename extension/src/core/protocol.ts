/** The messages between editor and session, which Python declares, and the transport that carries them. */
import type * as wire from './protocol.generated';

export * from './protocol.generated';

export type PreviewRequest = Required<wire.PreviewRequest> & { focus: { node: string; output: number }[] };
export type Bytes = DataView | ArrayBuffer;
export type ConnectionStatus = 'connecting' | 'connected' | 'disconnected';
export type Message = wire.Request | wire.Response | SessionEvent;
export type Method = keyof wire.Methods;
export type Result<M extends Method> = wire.Methods[M]['result'];
/** The parameters of a request, which it leaves as they are; none where the method takes none. */
export type Parameters<M extends Method> = wire.Methods[M]['params'] extends wire.Empty
  ? []
  : [params: Unchanged<wire.Methods[M]['params']>];
/** An event with the parameters of its kind. */
export type SessionEvent = {
  [E in keyof wire.Events]: Omit<wire.SessionEvent, 'event' | 'params'> & {
    event: E;
    params: wire.Events[E];
  };
}[keyof wire.Events];
type Unchanged<T> = {
  [K in keyof T]: T[K] extends infer V ? (V extends (infer U)[] ? readonly U[] : V) : never;
};

/** Carries messages to a session and back; every host makes one. */
export interface Transport {
  send(message: Message, buffers?: ArrayBuffer[]): void;
  onMessage(listener: (message: Message, buffers: Bytes[]) => void): () => void;
  onStatus(listener: (status: ConnectionStatus, detail?: string) => void): () => void;
  dispose(): void;
}
