"""Runs one Lambda execution environment as one local child process.

The child talks the public Lambda Runtime API (2018-06-01) to a small HTTP server on loopback, one per process, through
`client.ts` beside this file. LocalStack does the rest: queues, concurrency, keep-alive, logs, API. Between two
invocations the process is stopped (SIGSTOP), as Lambda freezes its sandbox: what a handler leaves behind does not go on
before the next invocation.

LAMBDA_PROCESS_NODE in LocalStack's own environment names the Node that runs every function.
"""

import json
import logging
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from concurrent.futures import Future, InvalidStateError
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from localstack import config
from localstack.services.lambda_.invocation.executor_endpoint import StatusErrorException
from localstack.services.lambda_.invocation.lambda_models import FunctionVersion, InvocationResult
from localstack.services.lambda_.invocation.runtime_executor import (
    LambdaRuntimeException,
    RuntimeExecutor,
)

LOG = logging.getLogger(__name__)
HOST = "127.0.0.1"
CLIENT = Path(__file__).with_name("client.ts")
MAX_RESPONSE = 6 * 1024 * 1024 + 100
INIT_TIMEOUT = 10  # seconds, as Lambda
END_MARK = b"\0END "  # written by client.ts after the last log line of an invocation


def error(error_type: str, message: str) -> bytes:
    return json.dumps({"errorType": error_type, "errorMessage": message}).encode()


def settle(future: Future | None, value) -> None:
    """First writer wins: response, error, exit and timeout may race."""
    try:
        if future:
            future.set_result(value)
    except InvalidStateError:
        pass


class RuntimeApi(BaseHTTPRequestHandler):
    """Server side of the Lambda Runtime API. `self.server.sandbox` is the owner."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # one segment per reply

    def log_message(self, *args):
        pass

    def reply(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content_Length": str(len(body))}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if not self.path.endswith("/runtime/invocation/next"):
            return self.reply(404)
        event = self.server.sandbox.next_event()
        if event is None:  # sandbox is gone; drop the connection
            self.close_connection = True
            return None
        return self.reply(
            200,
            event["payload"].encode(),
            Content_Type="application/json",
            Lambda_Runtime_Aws_Request_Id=event["invoke-id"],
            Lambda_Runtime_Invoked_Function_Arn=event["invoked-function-arn"],
            Lambda_Runtime_Trace_Id=event["trace-id"],
            Lambda_Runtime_Deadline_Ms=str(event["deadline"]),
        )

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        sandbox, parts = self.server.sandbox, self.path.strip("/").split("/")
        match parts[2:]:
            case ["init", "error"]:
                settle(sandbox.init, body)
            case ["invocation", request_id, "response"]:
                sandbox.finish(request_id, body, False)
            case ["invocation", request_id, "error"]:
                sandbox.finish(request_id, body, True)
            case _:
                return self.reply(404)
        return self.reply(202, b'{"status":"OK"}', Content_Type="application/json")


class Sandbox:
    """One child process with its Runtime API server. Never reused after the process ended."""

    def __init__(self, argv: list[str], env: dict[str, str], cwd: str):
        self.init: Future = Future()  # True when ready, else the error payload (bytes)
        self.call: Future | None = None  # (payload, is_error) of the invocation in flight
        self.call_id = ""
        self.events: queue.SimpleQueue = queue.SimpleQueue()
        self.output: list[bytes] = []
        self.output_end = threading.Event()
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer((HOST, 0), RuntimeApi)  # listens from here on
        self.server.daemon_threads = True
        self.server.sandbox = self
        try:
            self.process = subprocess.Popen(
                argv,
                cwd=cwd,
                env={**env, "AWS_LAMBDA_RUNTIME_API": f"{HOST}:{self.server.server_address[1]}"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # own group: kill() also reaches grandchildren
            )
        except OSError:
            self.server.server_close()
            raise
        for target in (self.server.serve_forever, self._read, self._watch):
            threading.Thread(target=target, daemon=True, name="lambda-process").start()

    def _read(self) -> None:
        for line in self.process.stdout:
            text, mark, _ = line.partition(END_MARK)
            self.output.append(text + b"\n" if mark and text else text)
            if mark:
                self.output_end.set()
        self.output_end.set()

    def _watch(self) -> None:
        code = self.process.wait()
        self.output_end.wait(0.2)
        settle(self.init, self._exit_error(code))
        settle(self.call, (self._exit_error(code), True))
        self.events.put(None)  # releases a handler thread still waiting in next_event
        self.server.shutdown()
        self.server.server_close()

    def _exit_error(self, code: int) -> bytes:
        reason = f"signal: {signal.strsignal(-code).lower()}" if code < 0 else f"exit status {code}"
        message = f"with error: {reason}" if code else "without providing a reason"
        return error("Runtime.ExitError", f"RequestId: {self.call_id} Error: Runtime exited {message}")

    def next_event(self) -> dict | None:
        settle(self.init, True)
        with self.lock:
            if self.events.empty():
                self._signal(signal.SIGSTOP)
        return self.events.get()

    def finish(self, request_id: str, body: bytes, is_error: bool) -> None:
        if request_id != self.call_id:
            return
        if len(body) > MAX_RESPONSE and not is_error:
            message = f"Response payload size exceeded maximum allowed payload size ({MAX_RESPONSE} bytes)."
            body, is_error = error("Function.ResponseSizeTooLarge", message), True
        settle(self.call, (body, is_error))

    def invoke(self, event: dict, timeout: float) -> tuple[bytes, bool]:
        self.call_id, self.call = event["invoke-id"], Future()
        self.output_end.clear()
        with self.lock:
            self.events.put(event)
            self._signal(signal.SIGCONT)
        if not self.alive():  # died just now: _watch may have looked at `call` before it was set
            settle(self.call, (self._exit_error(self.process.returncode), True))
        try:
            result = self.call.result(timeout)
        except TimeoutError:
            message = f"RequestId: {self.call_id} Error: Task timed out after {timeout:.2f} seconds"
            settle(self.call, (error("Sandbox.Timedout", message), True))  # before kill(), which would report an exit
            result = self.call.result()
            self.kill()
        self.output_end.wait(0.2)
        return result

    def take_output(self) -> str:
        lines, self.output = self.output, []
        return b"".join(lines).decode("utf-8", "replace")

    def peak_memory_mb(self) -> int:
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
            return int(status.split("VmHWM:")[1].split()[0]) // 1024
        except (OSError, IndexError):  # the process is gone
            return 0

    def alive(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        """Returns when the process is gone, so that the next invocation cannot be handed to a dying one."""
        self._signal(signal.SIGKILL)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            LOG.warning("Lambda process %d does not die", self.process.pid)

    def _signal(self, sig: int) -> None:
        try:
            os.killpg(self.process.pid, sig)
        except ProcessLookupError:
            pass


class ProcessRuntimeExecutor(RuntimeExecutor):
    def __init__(self, id: str, function_version: FunctionVersion) -> None:
        super().__init__(id=id, function_version=function_version)
        self.sandbox: Sandbox | None = None
        self.env: dict[str, str] = {}
        self.tmp = Path(config.dirs.tmp) / "lambda-process" / id

    def start(self, env_vars: dict[str, str]) -> None:
        self.tmp.mkdir(parents=True, exist_ok=True)
        task_root = str(self._code_dir())
        # A new environment strips and compiles nothing again that an earlier one did.
        cache = Path(config.dirs.tmp) / "lambda-process" / "compiled"
        defaults = {"PATH": os.environ["PATH"], "LANG": "en_US.UTF-8", "TMPDIR": str(self.tmp), "NODE_COMPILE_CACHE": str(cache)}
        self.env = defaults | {k: str(v) for k, v in env_vars.items() if v is not None}
        self.env |= {"LAMBDA_TASK_ROOT": task_root, "AWS_EXECUTION_ENV": f"AWS_Lambda_{self._runtime()}"}
        if failure := self._spawn():
            raise StatusErrorException("Environment startup failed", payload=failure)

    def stop(self) -> None:
        if self.sandbox:
            self.sandbox.kill()
        shutil.rmtree(self.tmp, ignore_errors=True)

    def invoke(self, payload: dict[str, str]) -> InvocationResult:
        function, request_id = self.function_version.config, payload["invoke-id"]
        began = time.time()
        if not self.sandbox.alive():
            # as Lambda does after a crash or timeout: re-initialise within the next invocation
            if failure := self._spawn():
                return InvocationResult(request_id, failure, True, self.sandbox.take_output() or "-")
        event = {**payload, "deadline": int((time.time() + function.timeout) * 1000)}
        body, is_error = self.sandbox.invoke(event, function.timeout)
        took = (time.time() - began) * 1000
        logs = (
            f"START RequestId: {request_id} Version: {self.function_version.id.qualifier}\n"
            f"{self.sandbox.take_output()}"
            f"END RequestId: {request_id}\n"
            f"REPORT RequestId: {request_id}\tDuration: {took:.2f} ms\tBilled Duration: {int(took) + 1} ms\t"
            f"Memory Size: {function.memory_size} MB\tMax Memory Used: {self.sandbox.peak_memory_mb()} MB\t\n"
        )
        return InvocationResult(request_id, body, is_error, logs)

    def get_logs(self) -> str:
        return self.sandbox.take_output() if self.sandbox else "Process was not started"

    def get_address(self) -> str:
        return HOST

    def get_endpoint_from_executor(self) -> str:
        return HOST

    def get_runtime_endpoint(self) -> str:  # abstract in the base class; this executor does not use that protocol
        return f"http://{HOST}:{config.GATEWAY_LISTEN[0].port}/_localstack_lambda/{self.id}"

    @classmethod
    def prepare_version(cls, function_version: FunctionVersion) -> None:
        function = function_version.config
        if not function.code or not (function.runtime or "").startswith("nodejs"):
            raise LambdaRuntimeException(f"the process executor runs zipped nodejs functions, not {function.runtime}")
        if function.layers:
            LOG.warning("Lambda layers are ignored by the process executor: %s", function_version.qualified_arn)
        function.code.prepare_for_execution()

    @classmethod
    def cleanup_version(cls, function_version: FunctionVersion) -> None:
        pass

    def _runtime(self) -> str:
        return self.function_version.config.runtime or ""

    def _code_dir(self) -> Path:
        return Path(self.function_version.config.code.get_unzipped_code_location())

    def _argv(self) -> list[str]:
        heap = int(self.function_version.config.memory_size * 0.9)
        return [os.environ.get("LAMBDA_PROCESS_NODE", "node"), f"--max-old-space-size={heap}", str(CLIENT)]

    def _spawn(self) -> bytes | None:
        """Starts a fresh process; returns None when it is ready, else the error payload."""
        if self.sandbox:
            self.sandbox.kill()
        self.sandbox = Sandbox(self._argv(), self.env, str(self._code_dir()))
        try:
            outcome = self.sandbox.init.result(INIT_TIMEOUT)
        except TimeoutError:
            outcome = error("Sandbox.Timedout", f"Error: Init timed out after {INIT_TIMEOUT:.2f} seconds")
        if outcome is True:
            return None
        self.sandbox.kill()
        return outcome
